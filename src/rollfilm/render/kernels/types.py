"""The structures that kernels share, and the key of the visibility buffer."""

import warp as wp

# Bits of a visibility key, from the low end: triangle within its mesh, geom (inverted), inverted reciprocal depth.
MAX_TRIANGLES = (1 << 22) - 1  # the last number is that of the empty key
MAX_GEOMS = 1 << 14

CLUSTER_SIZE = 64

EMPTY_KEY = wp.constant(wp.uint64(0xFFFFFFFFFFFFFFFF))

# A later geom is taken to be nearer by this part of its depth and number modulo 32, so that coincident surfaces show one
# of them everywhere instead of a pattern of rounding errors. 32 steps are 0.06 mm at one metre, below MuJoCo's own depth buffer.
LAYER_STEP = wp.constant(2.0e-6)
LAYER_MASK = wp.constant(31)


@wp.struct
class SceneData:
    """What does not change between frames. V vertices, T triangles, L levels, M meshes, G geoms, B worlds.

    What worlds may have of their own is (B, n); where they are all alike its first stride is 0, so that all read the same row.
    """

    vertex: wp.array(dtype=wp.vec3)  # (V,) in the mesh's frame
    normal: wp.array(dtype=wp.vec3)  # (V,)
    uv: wp.array(dtype=wp.vec2)  # (V,)
    triangle: wp.array(dtype=wp.vec3i)  # (T,) vertices
    corner: wp.array2d(dtype=float)  # (9, T) their corners by coordinate: neighbouring threads read neighbouring numbers
    level_error: wp.array(dtype=float)  # (L,) metres
    level_first: wp.array(dtype=int)  # (L,) first triangle within the mesh
    level_count: wp.array(dtype=int)  # (L,) triangles
    mesh_triangle: wp.array(dtype=int)  # (M,) first triangle
    mesh_level: wp.array(dtype=int)  # (M,) first level, the finest
    mesh_levels: wp.array(dtype=int)  # (M,) number of levels
    mesh_center: wp.array(dtype=wp.vec3)  # (M,)
    mesh_radius: wp.array(dtype=float)  # (M,)
    geom_body: wp.array(dtype=int)  # (G,)
    geom_position: wp.array(dtype=wp.vec3)  # (G,) in the body's frame
    geom_rotation: wp.array(dtype=wp.mat33)  # (G,)
    geom_mesh: wp.array2d(dtype=int)  # (B, G) -1 for a plane, -2 for what is hidden
    geom_id: wp.array(dtype=int)  # (G,) the engine's own id
    geom_alpha: wp.array2d(dtype=float)  # (B, G) 1 for what is opaque
    geom_half_size: wp.array(dtype=wp.vec2)  # (G,) of planes, 0 for infinite
    geom_color: wp.array2d(dtype=wp.vec3)  # (B, G)
    geom_scale: wp.array2d(dtype=wp.vec3)  # (B, G) factors on its size along the axes of its frame
    geom_stretch: wp.array2d(dtype=float)  # (B, G) the largest of them: of its mesh's radius and errors
    geom_finish: wp.array(dtype=wp.vec3)  # (G,) emission, specular, exponent
    geom_uv: wp.array(dtype=wp.vec4)  # (G,) scale and offset
    geom_uv_local: wp.array(dtype=int)  # (G,) 1 if texture coordinates are the x and y of the geom's frame
    geom_texture: wp.array2d(dtype=int)  # (B, G) -1 for none
    geom_cube: wp.array(dtype=wp.vec3)  # (G,) from a point in the geom's frame to a direction of its cube texture
    geom_cube_cap: wp.array(dtype=wp.vec2)  # (G,) of capsules: half the straight part, and how much more z counts beyond it
    plane: wp.array(dtype=int)  # geoms that are planes
    mirror: wp.array(dtype=int)  # geoms with a face that reflects
    mirror_height: wp.array(dtype=float)  # its height in the geom's frame
    mirror_share: wp.array(dtype=float)  # its reflectance
    texel: wp.array(dtype=wp.uint32)  # red lowest, all images one after the other, each with a row and a column more (texture.py)
    # (images,) handles of a GPU's texture units instead of texels: with the finest image of a texture or face, for all its levels
    texture_unit: wp.array(dtype=wp.uint64)
    texture_level: wp.array(dtype=int)  # (textures + 1,) first image: the finest mip level, of a cube the face +x of it
    texture_cube: wp.array(dtype=int)  # (textures,) 1 for six faces a level instead of one image
    texture_image: wp.array(dtype=wp.uint64)  # (images,) first texel, width << 32, height << 48: one word to look up
    skybox: int  # texture or -1
    light_ambient: wp.array2d(dtype=wp.vec3)  # (B, lights)
    light_diffuse: wp.array2d(dtype=wp.vec3)
    light_specular: wp.array2d(dtype=wp.vec3)
    light_attenuation: wp.array(dtype=wp.vec3)  # (lights,)
    light_cone: wp.array(dtype=wp.vec2)  # cosine of the cutoff, exponent
    head_ambient: wp.vec3  # with MuJoCo's own ambient where there is no light at all
    head_diffuse: wp.vec3
    head_specular: wp.vec3
    own_head_ambient: wp.array(dtype=wp.vec3)  # (B,) where worlds have headlights of their own, else empty
    own_head_diffuse: wp.array(dtype=wp.vec3)
    own_head_specular: wp.array(dtype=wp.vec3)
    light_spot: wp.array(dtype=int)  # (lights,) 1 for those that shine from a place
    shadow_light: wp.array(dtype=int)  # lights that cast shadows
    haze_plane: int  # the geom whose horizon is hazy, or -1
    haze_width: float
    haze_color: wp.vec3
    fog_color: wp.vec3
    fog_start: float  # metres
    fog_end: float
    extent: float  # size of the model, metres
    near: float
    far: float


@wp.struct
class LightView:
    """How a light sees its shadow map: like a camera whose axes point right, up and towards the light.

    A point p in these axes lies at depth -p.z, and in texels at ``center + scale * (p.x, -p.y)``, over the depth if the light is a spot.
    A map holds the nearness of what it sees, which is linear on the map: ``reach`` minus the depth, or one over the depth of a spot.
    """

    from_world: wp.mat33  # rows: the axes
    origin: wp.vec3
    perspective: int  # 1 for a spot
    reach: float  # depth that everything lies before, of directional lights
    scale: float  # texels a metre; of a spot at a depth of one metre
    center: wp.vec2  # texels, x and y
    width: int  # texels that are used
    height: int
    ambient: int  # 1 if it has ambient light, which reaches what faces away from it too


@wp.struct
class WorldData:
    """Where things are in this frame, (B, n) in the world's frame."""

    geom_position: wp.array2d(dtype=wp.vec3)
    geom_rotation: wp.array2d(dtype=wp.mat33)  # times its size, where geoms have sizes of their own: takes vertices there
    geom_normal: wp.array2d(dtype=wp.mat33)  # takes normals there: the inverse transpose, which of a rotation is itself
    camera_position: wp.array2d(dtype=wp.vec3)
    camera_rotation: wp.array2d(dtype=wp.mat33)
    light_position: wp.array2d(dtype=wp.vec3)
    light_direction: wp.array2d(dtype=wp.vec3)
    active: wp.array(dtype=int)  # (B,) 1 if this call films the world
    caster: wp.array2d(dtype=wp.vec4)  # (B, G) spheres around what can cast shadows: centre and radius, -1 for others; none without maps
    light_view: wp.array2d(dtype=LightView)  # (B, lights that cast shadows)
    # (maps, lines * map_pitch) nearness as the bits of a float, 0 where there is nothing; which row is whose: ``shadow_share.map_row``
    shadow_map: wp.array2d(dtype=wp.uint32)
    maps_at_once: int  # worlds whose maps are there at once
    map_pitch: int  # texels in memory from one line of a map to the next


@wp.struct
class Lens:
    """How a camera maps to pixels (``rollfilm.scene.Intrinsics``)."""

    fx: float
    fy: float
    cx: float
    cy: float
    flat: int  # 1 of an orthographic camera: fx and fy are pixels a metre


@wp.struct
class ViewBatch:
    """Views of one size. View ``v`` is camera ``v / num_worlds`` of the batch in world ``v % num_worlds``."""

    camera: wp.array(dtype=int)  # which camera of WorldData each camera of the batch is
    lens: wp.array2d(dtype=Lens)  # (cameras of the batch, B), or (cameras of the batch, 1) for all worlds alike
    num_worlds: int
    num_geoms: int
    height: int
    width: int
    scale: float  # how many of these pixels are as wide as one that lenses are given in
    opaque_only: int  # 1 if translucent geoms are left out
    lod_pixels: float  # error that a level of detail may have on the screen
    turn: wp.array(dtype=wp.mat33)  # (cameras,) from the camera to what is drawn, for faces of bent lenses; else empty
    ray: wp.array2d(dtype=wp.vec4)  # (cameras, H * W) unit rays of a bent lens in the camera's frame, and the angle to the next; else empty
    face_pixel: wp.array2d(dtype=int)  # (cameras, H * W) and where on its faces they are
    face_size: int  # pixels of a face


@wp.struct
class Pictures:
    """The outputs of a batch of views; those nobody asked for are empty."""

    rgb: wp.array2d(dtype=wp.uint8)  # (views, H * W * 3)
    depth: wp.array2d(dtype=float)  # (views, H * W)
    segmentation: wp.array2d(dtype=int)  # (views, H * W)
    body: wp.array2d(dtype=int)  # (views, H * W)
    distance: wp.array2d(dtype=float)  # (views, H * W)
    normal_camera: wp.array2d(dtype=wp.vec3)  # (views, H * W)
    normal_world: wp.array2d(dtype=wp.vec3)  # (views, H * W)
    position: wp.array2d(dtype=wp.vec3)  # (views, H * W)


@wp.func
def view_lens(batch: ViewBatch, slot: int, w: int):
    """The lens of a camera of the batch in a world."""
    lens = batch.lens[slot, wp.min(w, batch.lens.shape[1] - 1)]
    lens.fx *= batch.scale
    lens.fy *= batch.scale
    lens.cx *= batch.scale
    lens.cy *= batch.scale
    return lens


# Pixels lie one after the other in a row, which Warp's own indexing cannot know: it multiplies 64-bit strides at every one.
@wp.func_native("""
    return ((const wp::uint64*)((const char*)vis.data + row * (size_t)vis.strides[0]))[at];
""")
def key_at(vis: wp.array2d(dtype=wp.uint64), row: int, at: int) -> wp.uint64:
    """A key of a visibility buffer."""


@wp.func_native("""
    ((wp::uint64*)((char*)vis.data + row * (size_t)vis.strides[0]))[at] = 0xFFFFFFFFFFFFFFFFull;
""")
def clear_key(vis: wp.array2d(dtype=wp.uint64), row: int, at: int):
    """Leave a pixel of a visibility buffer empty."""


@wp.func_native("""
    wp::uint8* const pixel = (wp::uint8*)((char*)rgb.data + row * (size_t)rgb.strides[0]) + 3 * at;
    pixel[0] = (wp::uint8)red;
    pixel[1] = (wp::uint8)green;
    pixel[2] = (wp::uint8)blue;
""")
def store_pixel(rgb: wp.array2d(dtype=wp.uint8), row: int, at: int, red: int, green: int, blue: int):
    """The bytes of a pixel of a picture."""


@wp.func
def layer(geom: int):
    """The factor on a geom's reciprocal depth that orders coincident surfaces."""
    return 1.0 + float(geom & LAYER_MASK) * LAYER_STEP


@wp.func
def depth_key(inverse_depth: float):
    """The upper part of a key: the nearer, the smaller. The sign and the last three bits of the float are dropped."""
    bits = wp.cast(inverse_depth, wp.uint32) >> wp.uint32(3)
    return wp.uint64(wp.uint32(0x0FFFFFFF) - bits) << wp.uint64(36)


@wp.func
def surface_key(geom: int, triangle: int):
    """The lower part of a key: at equal depth the later geom is seen, then the earlier triangle."""
    return (wp.uint64(16383 - geom) << wp.uint64(22)) | wp.uint64(triangle)


@wp.func
def is_empty(key: wp.uint64):
    """Whether a key shows nothing: no depth that is met has all of its upper bits."""
    return wp.uint32(key >> wp.uint64(32)) == wp.uint32(EMPTY_KEY >> wp.uint64(32))


@wp.func
def key_geom(key: wp.uint64):
    """The geom of a key."""
    return 16383 - int((key >> wp.uint64(22)) & wp.uint64(16383))


@wp.func
def key_triangle(key: wp.uint64):
    """The triangle of a key, counted within its mesh."""
    return int(key & wp.uint64(4194303))


@wp.func
def key_inverse_depth(key: wp.uint64):
    """The reciprocal depth that a key was made of, to a part in two millions."""
    bits = wp.uint32(0x0FFFFFFF) - wp.uint32(key >> wp.uint64(36))
    # the middle of the interval that was rounded away
    return wp.cast((bits << wp.uint32(3)) | wp.uint32(4), wp.float32)


@wp.func
def kept_inverse_depth(inverse_depth: float):
    """What a key keeps of a reciprocal depth: ``key_inverse_depth`` without a key."""
    return wp.cast((wp.cast(inverse_depth, wp.uint32) & wp.uint32(0xFFFFFFF8)) | wp.uint32(4), wp.float32)
