"""The report as a reader sees it: in a real browser, on a phone and on a desk, light and dark."""

import pytest

from rillax.paper import collect, report
from tests import browser
from tests.paper.made_up import whole_paper

# What sticks out of the screen; a box that scrolls by itself may be wider inside. The width is
# given: a phone that finds something wider zooms out, and innerWidth grows.
OVERFLOWING = """
const wide = e => e.getBoundingClientRect().right > WIDTH + 1;
const inside = e => e.closest('.scroll') && !e.classList.contains('scroll');
return [...document.querySelectorAll('body *')].filter(e => wide(e) && !inside(e))
  .map(e => e.tagName + '.' + e.className);
"""
PICTURES = "return [...document.images].map(i => [i.complete, i.naturalWidth, i.currentSrc])"
# WCAG contrast of the text of every element with a solid background behind it.
CONTRAST = """
const light = c => { const [r, g, b] = c.match(/[0-9.]+/g).slice(0, 3).map(v => v / 255)
  .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = e => { for (; e; e = e.parentElement) {
  const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c; }
  return 'rgb(255, 255, 255)'; };
return [...document.querySelectorAll('h1, h2, h3, p, a, li, td, th, dt, dd, span, summary')]
  .filter(e => e.innerText && e.innerText.trim()).map(e => {
  const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
  return [(a + 0.05) / (b + 0.05), e.tagName + ' ' + e.innerText.slice(0, 40)]; })
  .filter(([ratio]) => ratio < 4.5);
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    path = tmp_path_factory.mktemp("pages")
    collect.collect(whole_paper(path / "out"), path)
    everything = collect.load_all(path)
    some = {name: everything[name] for name in ("fig1b", "mujoco")}
    for name, results in {"whole": everything, "some": some, "none": {}}.items():
        (path / f"{name}.html").write_text(report.page(results))
    return path


@pytest.fixture(scope="module")
def chromium():
    if missing := browser.missing():
        pytest.skip(missing)
    with browser.chromium() as page:
        yield page


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize(("name", "pictures"), [("whole", 6), ("some", 2), ("none", 0)])
def test_nothing_overflows_and_every_picture_loads(chromium, pages, name, pictures, width):
    chromium.open(f"file://{pages / name}.html", width)
    chromium.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert chromium.run("return innerWidth") == width
    assert chromium.run("return document.documentElement.scrollWidth") <= width
    assert chromium.run(OVERFLOWING.replace("WIDTH", str(width))) == []
    loaded = chromium.run(PICTURES)
    assert len(loaded) == pictures
    assert all(complete and natural > 0 for complete, natural, _ in loaded)
    assert all(source.startswith("data:image/svg") for *_, source in loaded)
    wide = "return [...document.images].map(i => [i.clientWidth, i.parentElement.clientWidth])"
    for image, frame in chromium.run(wide):
        assert image >= frame - 26  # the padding
    assert chromium.console() == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(chromium, pages, dark):
    chromium.open(f"file://{pages}/whole.html", 1280, dark=dark)
    chromium.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    background = chromium.run("return getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(20, 24, 28)" if dark else "rgb(255, 255, 255)")
    assert chromium.run(CONTRAST) == []


def test_the_browser_would_notice(chromium, tmp_path):
    """The checks above can fail: a page with every fault has every fault reported."""
    page = tmp_path / "bad.html"
    page.write_text(
        '<!doctype html><meta name="viewport" content="width=device-width"><body>'
        '<img src="missing.png"><div style="width: 900px">wide</div>'
        '<p style="color: #bbb; background: #fff">faint</p>'
        "<script>console.error('a mistake')</script>"
    )
    chromium.open(f"file://{page}", 400)
    assert chromium.run(OVERFLOWING.replace("WIDTH", "400"))
    assert chromium.run(PICTURES)[0][1] == 0
    assert chromium.run(CONTRAST)
    assert chromium.console()
