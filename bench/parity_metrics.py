"""How like two pictures are: colours by SSIM and PSNR, depth in millimetres, ids by their overlap."""

import numpy as np

__all__ = ["averaged", "away_from_edges", "coincident", "depth_difference_mm", "id_overlap", "psnr", "ssim"]

#: The window of SSIM: Gaussian, 11 pixels wide (Wang et al.).
_SIGMA, _HALF = 1.5, 5

#: Geoms that cover fewer pixels have next to nothing but edges.
_SMALLEST_GEOM = 500

#: By which share of its depth a surface without edges bends at most from one pixel to the next.
_BEND = 1e-3

#: By which share of their depth surfaces differ that coincide: what rounding makes of it.
_ALIKE = 5e-6


def ssim(left: np.ndarray, right: np.ndarray) -> float:
    """Structural similarity of two pictures, uint8 (H, W, 3): the mean over pixels and channels, 1 for equal ones.

    Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to structural similarity", 2004: Gaussian window
    of 11 x 11 with a deviation of 1.5, K1 = 0.01, K2 = 0.03, range 255; only pixels whose window lies in the picture. That is
    ``structural_similarity(gaussian_weights=True, sigma=1.5, use_sample_covariance=False, channel_axis=-1)`` of scikit-image.
    """
    x, y = left.astype(np.float64), right.astype(np.float64)
    mean_x, mean_y = _blurred(x), _blurred(y)
    var_x, var_y = _blurred(x * x) - mean_x**2, _blurred(y * y) - mean_y**2
    covariance = _blurred(x * y) - mean_x * mean_y
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    alike = (2 * mean_x * mean_y + c1) * (2 * covariance + c2) / ((mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2))
    return float(alike.mean())


def psnr(left: np.ndarray, right: np.ndarray) -> float:
    """Peak signal to noise ratio of two pictures (H, W, 3), 0 to 255, decibels; 99 for equal ones."""
    error = float(np.mean((left.astype(np.float64) - right.astype(np.float64)) ** 2))
    return min(99.0, 10.0 * np.log10(255.0**2 / error)) if error > 0 else 99.0


def averaged(picture: np.ndarray, factor: int) -> np.ndarray:
    """A picture (H, W, 3) made smaller by a whole factor: float64 (H / factor, W / factor, 3)."""
    rows, columns = picture.shape[0] // factor, picture.shape[1] // factor
    return picture.reshape(rows, factor, columns, factor, 3).astype(np.float64).mean(axis=(1, 3))


def away_from_edges(ids: np.ndarray, depth_m: np.ndarray, reach: int = 2) -> np.ndarray:
    """Pixels (H, W) of geoms around which there is no other geom and no edge of the same one.

    An edge is where depth bends by more than a part in a thousand from one pixel to the next, along a row, a column or a diagonal. To be
    called with the reference alone: what is measured must not say where it is measured.
    """
    padded = np.pad(depth_m.astype(np.float64), 1, mode="edge")
    height, width = depth_m.shape
    bent = np.zeros((height, width))
    for row, column in ((0, 1), (1, 0), (1, 1), (1, -1)):
        ahead = padded[1 + row : 1 + row + height, 1 + column : 1 + column + width]
        behind = padded[1 - row : 1 - row + height, 1 - column : 1 - column + width]
        bent = np.maximum(bent, np.abs(ahead + behind - 2.0 * depth_m))
    edge = (bent > _BEND * depth_m).astype(np.int8)
    low_id, high_id = _around(ids, np.minimum, reach), _around(ids, np.maximum, reach)
    return (ids >= 0) & (low_id == high_id) & (_around(edge, np.maximum, 1) == 0)


def coincident(ids: np.ndarray, depth_m: np.ndarray, reference_ids: np.ndarray, reference_m: np.ndarray) -> np.ndarray:
    """Pixels (H, W) where two geoms lie at the same depth, to five millionths of it, and each picture shows another of them."""
    return (ids != reference_ids) & (ids >= 0) & (reference_ids >= 0) & (np.abs(depth_m - reference_m) < _ALIKE * reference_m)


def depth_difference_mm(depth_m: np.ndarray, reference_m: np.ndarray, clear: np.ndarray) -> tuple[float, float]:
    """The largest difference of depth and the 99.9th percentile over the pixels ``clear``, each scaled to a depth of 2 m; millimetres."""
    apart = np.abs(depth_m[clear] - reference_m[clear]) / reference_m[clear] * 2000.0
    return (float(apart.max()), float(np.percentile(apart, 99.9))) if len(apart) else (0.0, 0.0)


def id_overlap(ids: np.ndarray, reference: np.ndarray, counted: np.ndarray) -> tuple[float, float, int]:
    """Intersection over union of geoms' pixels among those ``counted`` (H, W): the mean weighted with pixels, the worst of large geoms, and
    the id of that one."""
    ids, reference = ids[counted], reference[counted]
    overlaps, sizes, large = [], [], []
    for geom in np.unique(np.concatenate([ids, reference])):
        mine, theirs = ids == geom, reference == geom
        overlap = float((mine & theirs).sum() / (mine | theirs).sum())
        overlaps.append(overlap)
        sizes.append(int((mine | theirs).sum()))
        if theirs.sum() >= _SMALLEST_GEOM:
            large.append((overlap, int(geom)))
    return float(np.average(overlaps, weights=sizes)), *min(large)


def _blurred(values: np.ndarray) -> np.ndarray:
    """A picture (H, W, C) under the window of SSIM, (H - 10, W - 10, C)."""
    weights = np.exp(-0.5 * (np.arange(-_HALF, _HALF + 1) / _SIGMA) ** 2)
    weights /= weights.sum()
    rows, columns = values.shape[0] - 2 * _HALF, values.shape[1] - 2 * _HALF
    across = np.sum([w * values[:, k : k + columns] for k, w in enumerate(weights)], axis=0)
    return np.sum([w * across[k : k + rows] for k, w in enumerate(weights)], axis=0)


def _around(values: np.ndarray, smallest_or_largest: np.ufunc, reach: int) -> np.ndarray:
    """The smallest or largest value of the square of pixels around each."""
    padded = np.pad(values, reach, mode="edge")
    height, width = values.shape
    result = values.copy()
    for row in range(2 * reach + 1):
        for column in range(2 * reach + 1):
            result = smallest_or_largest(result, padded[row : row + height, column : column + width])
    return result
