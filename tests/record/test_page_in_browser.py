"""The page of a recording in a browser, opened from the disk. Skipped where there is no Chromium or no playwright to drive it."""

import json
import shutil
import time

import pytest

from counting_env import CountingVectorEnv, counting_policy
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions
from rollfilm.record.layout import Layout
from rollfilm.record.page import write_page

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TASK = """</script><img src=x onerror="window.hacked=1"> "red" & 'blue'"""


class CountingTask(CountingVectorEnv):
    task_name = TASK


@pytest.fixture(scope="module")
def browser():
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    with playwright.sync_playwright() as driver:
        try:
            started = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"no browser: {str(error).splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture
def open_page(browser):
    """Opens the page of a folder; afterwards nothing may have gone wrong in it, and nothing may have been asked of a network."""
    contexts, complaints = [], []

    def open_it(folder, fragment="", *, complaining=True, **options):
        contexts.append(browser.new_context(viewport={"width": 1200, "height": 900}, **options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text) if complaining else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith("file:") else complaints.append(request.url))
        page.goto(f"file://{folder}/index.html{fragment}")
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Episodes 0 to 11 of 3, 4, 5, 3, ... steps; 3, 7 and 11 do not succeed, and were not kept."""
    folder = tmp_path_factory.mktemp("a #1 100% 'recording'")
    env = CountingTask(3, {"front": (63, 85), "a/b #2 (50%)": (32, 32)}, contrast=25)
    with Recorder.for_env(env, folder, RecorderOptions(keep="success", seed=5)) as recorder:
        run_episodes(env, counting_policy, num_episodes=12, seed=5, recorder=recorder)
    return folder


@pytest.fixture(scope="module")
def two_thousand(recording, tmp_path_factory):
    """The same recording with 2,000 episodes; of the first twelve there are files."""
    folder = tmp_path_factory.mktemp("many")
    shutil.copytree(recording, folder, dirs_exist_ok=True)
    first = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    with (folder / "episodes.jsonl").open("a") as file:
        for index in range(12, 2000):
            line = first[index % 12] | {"episode": index, "seed": 5000 + index, "steps": 3 + index % 97, "kept": False}
            file.write(json.dumps(line) + "\n")
    write_page(Layout(folder))
    return folder


def in_folder(folder):
    return str(folder).replace("%", "%25").replace("#", "%23").replace(" ", "%20")


def until(page, condition):
    """Wait for a condition in JavaScript. Playwright's own way to wait evaluates strings, which the page's policy forbids."""
    deadline = time.monotonic() + 10
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(20)


def shown(page):
    """The numbers of the cards in the document, in their order."""
    return [int(text[1:]) for text in page.locator(".card b").all_inner_texts()]


def test_every_episode_has_a_card_with_its_poster(recording, open_page):
    page = open_page(in_folder(recording))
    assert page.locator("h1").inner_text() == TASK
    assert TASK in page.title()
    assert page.evaluate("window.hacked") is None
    assert shown(page) == list(range(12))
    until(page, "[...document.images].every((image) => image.complete && image.naturalWidth === 85)")
    assert page.locator(".card img").count() == 9
    third = page.locator(".card").nth(3)
    assert third.inner_text().split("\n") == ["not kept", "#3", "\u2717 no success", "3 steps", "return 3", "truncated", "seed 5003"]
    assert "75.0 %" in page.locator("#summary").inner_text()


def test_a_click_plays_the_video_and_every_camera_can_be_chosen(recording, open_page):
    page = open_page(in_folder(recording))
    page.locator(".card").nth(4).click()
    assert page.locator("#player-title").inner_text() == "Episode 4: \u2713 success"
    until(page, "video.videoWidth === 86 && video.currentTime > 0")
    page.locator("#cameras button").nth(1).click()
    until(page, "video.videoWidth === 32 && video.error === null")
    assert page.locator("#cameras button[aria-pressed=true]").inner_text() == "a/b #2 (50%)"
    facts = page.locator("#facts").inner_text()
    assert all(text in facts for text in ("terminated", "4 (0.2 s)", "5004"))


def test_the_player_goes_on_by_episodes_and_frames(recording, open_page):
    page = open_page(in_folder(recording), "#episode-4")
    until(page, "video.readyState >= 2")
    page.locator("#close").focus()
    for _ in range(6):
        page.keyboard.press(",")
    until(page, "frame.textContent === 'frame 0 of 4'")
    for number in range(1, 5):
        page.keyboard.press(".")
        until(page, f"frame.textContent === 'frame {number} of 4'")
    page.keyboard.press(".")
    page.wait_for_timeout(500)
    assert page.locator("#frame").inner_text() == "frame 4 of 4"
    page.keyboard.press("ArrowLeft")
    assert page.locator("#player-title").inner_text().startswith("Episode 3")
    assert "was not kept" in page.locator("#trouble").inner_text()
    assert page.evaluate("location.hash") == "#episode-3"
    page.keyboard.press("Escape")
    until(page, "document.activeElement.getAttribute('aria-label')?.startsWith('Episode 3:')")


def test_search_filters_and_order(two_thousand, open_page):
    page = open_page(two_thousand)
    assert page.locator("#count").inner_text() == "All 2,000 episodes"
    page.keyboard.press("/")
    page.keyboard.type("1234")
    assert shown(page) == [1234]
    page.locator("#search").fill("seed:6999")
    assert shown(page) == [1999]
    page.locator("#search").fill("no such thing")
    assert page.locator("#nothing").is_visible()
    page.locator("#reset-too").click()
    until(page, "count.textContent === 'All 2,000 episodes'")
    page.locator("#outcome").select_option("no")
    assert page.locator("#count").inner_text() == "500 of 2,000 episodes"
    assert shown(page)[:3] == [3, 7, 11]
    page.locator("#files").select_option("kept")
    assert page.locator("#count").inner_text() == "0 of 2,000 episodes"
    page.locator("#start-over").click()
    until(page, "count.textContent === 'All 2,000 episodes'")
    page.locator("#sort").select_option("steps")
    page.locator("#direction").click()
    steps = [int(text.split()[0]) for text in page.locator(".card .small:nth-child(3) span:first-child").all_inner_texts()]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] == 99
    page.locator("#shortest").fill("98")
    assert page.locator("#count").inner_text() == "40 of 2,000 episodes"


def test_only_what_is_in_view_is_in_the_document(two_thousand, open_page):
    page = open_page(two_thousand)
    assert page.locator(".card").count() < 100
    height = page.evaluate("document.documentElement.scrollHeight")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    until(page, "document.querySelector('.grid').textContent.includes('#1999')")
    assert page.locator(".card").count() < 100
    assert page.evaluate("document.documentElement.scrollHeight") == height
    assert shown(page) == list(range(shown(page)[0], 2000))
    assert page.evaluate("document.querySelectorAll('*').length") < 2000


def test_the_keyboard_reaches_every_episode(two_thousand, open_page):
    page = open_page(two_thousand)
    page.locator(".card").first.focus()
    focused = "document.activeElement.querySelector('b')?.textContent"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "#1"
    columns = page.evaluate("grid.columns")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == f"#{columns + 1}"
    page.keyboard.press("End")
    assert page.evaluate(focused) == "#1999"
    assert page.locator(".card:focus").is_visible()
    page.keyboard.press("Enter")
    assert page.locator("#player-title").inner_text().startswith("Episode 1999")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    until(page, f"{focused} === '#1998'")
    page.keyboard.press("Home")
    assert page.evaluate(focused) == "#0"
    assert page.locator(".card[tabindex='0']").count() == 1


def test_plots_have_few_elements_and_choose_lengths(two_thousand, open_page):
    page = open_page(two_thousand)
    assert page.locator("#success-plot *").count() < 30
    assert page.locator("#length-plot *").count() < 250
    assert "75 % of all" in page.locator("#success-plot svg").get_attribute("aria-label")
    page.locator("#length-plot .hit").nth(2).click()
    assert page.locator("#shortest").input_value() == "9"
    assert page.locator("#longest").input_value() == "11"
    assert "of 2,000" in page.locator("#count").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_or_the_button(recording, open_page, scheme):
    page = open_page(in_folder(recording), color_scheme=scheme)
    brightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
    assert (page.evaluate(brightness) > 128) == (scheme == "light")
    page.locator("#theme").click()
    assert page.evaluate(brightness) > 128
    page.locator("#theme").click()
    assert page.evaluate(brightness) < 128


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_ground(recording, open_page, scheme):
    """WCAG 2.1, 1.4.3: 4.5 to 1."""
    page = open_page(in_folder(recording), color_scheme=scheme)
    ratios = page.evaluate("""() => {
      const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const channels = (colour) => {
        pixel.clearRect(0, 0, 1, 1);
        pixel.fillStyle = colour;
        pixel.fillRect(0, 0, 1, 1);
        return [...pixel.getImageData(0, 0, 1, 1).data];
      };
      const luminance = (colour) => channels(colour).slice(0, 3)
        .map((value) => value / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const ground = (element) => {
        while (channels(getComputedStyle(element).backgroundColor)[3] < 255) element = element.parentElement;
        return getComputedStyle(element).backgroundColor;
      };
      const selectors = [".mark.yes", ".mark.no", ".small span", "#made", ".tiles dt", ".tiles small", ".legend", "#theme", "summary"];
      return Object.fromEntries(selectors.map((selector) => {
        const element = document.querySelector(selector);
        const [a, b] = [luminance(getComputedStyle(element).color), luminance(ground(element))].sort((x, y) => y - x);
        return [selector, (a + 0.05) / (b + 0.05)];
      }));
    }""")
    assert min(ratios.values()) >= 4.5, ratios


def test_a_poster_that_is_missing_leaves_words(recording, open_page, tmp_path):
    shutil.copytree(recording, tmp_path, dirs_exist_ok=True)
    (tmp_path / "posters" / "front" / "episode_000000.jpg").unlink()
    page = open_page(tmp_path, complaining=False)
    until(
        page,
        "document.querySelector('.card').textContent.includes('no poster') && document.querySelector('.card span span').offsetHeight > 0",
    )
    until(page, "document.querySelectorAll('.card img').length === 8")


def test_a_video_that_cannot_be_played_leaves_a_link(recording, open_page, tmp_path):
    shutil.copytree(recording, tmp_path, dirs_exist_ok=True)
    (tmp_path / "videos" / "front" / "episode_000000.mp4").write_bytes(b"not a video")
    page = open_page(tmp_path, "#episode-0")
    until(page, "!trouble.hidden && video.hidden")
    assert "cannot play the video (h264)" in page.locator("#trouble").inner_text()
    assert page.locator("#trouble a").get_attribute("href") == "videos/front/episode_000000.mp4"
    page.locator("#cameras button").nth(1).click()
    until(page, "trouble.hidden && !video.hidden && video.videoWidth === 32")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"status": "complete"}, None),
        ({"status": "interrupted"}, "was interrupted"),
        ({"status": "recording"}, "was not closed"),
        ({"status": "failed", "error": "<b>disk</b> full"}, "ended with an error: <b>disk</b> full"),
        ({"status": "recovered", "lost": ["episode 3", "episode 4"]}, "Lost: episode 3; episode 4."),
    ],
)
def test_the_page_says_how_the_recording_ended(recording, open_page, tmp_path, changes, words):
    manifest = json.loads((recording / "recording.json").read_text())
    (tmp_path / "recording.json").write_text(json.dumps(manifest | changes))
    write_page(Layout(tmp_path))
    status = open_page(tmp_path).locator("#status")
    assert status.is_visible() == (words is not None)
    assert words is None or words in status.inner_text()


def test_a_recording_without_episodes_is_a_page_too(recording, open_page, tmp_path):
    shutil.copy(recording / "recording.json", tmp_path)
    write_page(Layout(tmp_path))
    page = open_page(tmp_path)
    assert page.locator("#count").inner_text() == "No episode has ended."
