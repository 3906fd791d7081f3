"""The HTML report: what the page says, that it needs nothing beside itself, and how a real browser shows it."""

import base64
import json
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tomllib
from collections import Counter
from contextlib import closing, suppress
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import unquote

import pytest
from test_cli import grader, solve

from grader.course import Exercise
from grader.report.html import render
from grader.report.wording import MARKS, TrackRow
from grader.results import CheckResult, ExerciseResult, Kind, Speed, Status, TimingResult
from judging import ROOT, TOY

HOSTILE = '<script>alert("1")</script>&amp;\x1b[31m\x00\u202e\ud800 \'end'
PASSED, FAILED, NOT_RUN, ERROR = Status.PASSED, Status.FAILED, Status.NOT_RUN, Status.GRADER_ERROR


def exercise(number, title, *functions):
    return Exercise(f"{number:02}_{title.lower().replace(' ', '_')}", title, 10, functions, 20.0, ())


def check(function, label, status=PASSED, kind=None, *reason):
    return CheckResult(function, label, status, kind, reason, 0 if len(reason) == 1 else 3, 0.1)


def timing(function, verdict, ratio, note=""):
    seconds = 4e-4 * ratio
    label = "4 × 32 × 4096 × 128 float16, True"
    return TimingResult(
        function, label, verdict, 1.25, 1.05, ratio, ratio - 0.02, ratio + 0.02, seconds, 4e-4, 1_600_000_000, 0.0,
        3.8e-4 / seconds, 20, note,
    )  # fmt: skip


def result(entry, *checks, engine="interpreter", device="CPU interpreter", timings=(), output=""):
    return ExerciseResult(
        entry.id, f"/home/ada/course/exercises/{entry.id}/kernel.py", "0123456789abcdef" * 4, engine, device, 4607046117,
        checks, timings, (("grader", "0.1.0"), ("triton", "3.7.1")), ("Landlock version 7: files confined",), output,
        "2025-03-01T09:30:12+00:00", 3.61,
    )  # fmt: skip


def rows():
    """A track with one row of every sort."""
    add, total, both = exercise(1, "Add", "add"), exercise(2, "Sum", "sum"), exercise(3, "Two ways", "one_way", "other_way")
    stub, broken, slow, old, later = (exercise(n, t, "f") for n, t in enumerate(("Stub", "Odd", "Slow", "Old", "Later"), 4))
    first = '"transposed inputs" comes first'
    return [
        TrackRow(add, result(add, check("add", "one tile"), check("add", "large", NOT_RUN, None, "needs a GPU"))),
        TrackRow(total, result(
            total,
            check("sum", "one tile"),
            check("sum", "transposed inputs", FAILED, Kind.VALUES, "4 of 5 are wrong", "first: out[1] is 6, expected 2"),
            check("sum", "long rows", NOT_RUN, None, first),
            check("sum", "values far from zero", NOT_RUN, None, first),
            output=f"sum of <b>x</b>\n\t{HOSTILE}\n" + "a very long line " * 40,
        )),
        TrackRow(both, result(
            both,
            check("one_way", "tiles"), check("other_way", "tiles"),
            check("one_way", "speed on 8 × 8"), check("other_way", "speed on 8 × 8", NOT_RUN, None, "1.25 times", "close"),
            engine="gpu", device="NVIDIA H200",
            timings=(timing("one_way", Speed.MEETS, 1.012), timing("other_way", Speed.UNCLEAR, 1.248, "too close to tell")),
        )),
        TrackRow(stub, result(stub, check("f", "one tile", FAILED, Kind.NOT_STARTED, "nothing was written yet"))),
        TrackRow(broken, result(broken, check("", "start the runner", ERROR, None, f"KeyError {HOSTILE}" + "x" * 300))),
        TrackRow(slow, result(
            slow, check("f", "tiles"), check("f", "speed", FAILED, Kind.TOO_SLOW, "2.41 times the reference's time"),
            engine="gpu", device="NVIDIA H200", timings=(timing("f", Speed.MISSES, 2.413),),
        )),
        TrackRow(old, result(old, check("f", "one tile")), stale=True),
        TrackRow(later, None),
    ]  # fmt: skip


class Page(HTMLParser):
    """What the tests ask of a page: its elements, the text of each, and that tags are balanced."""

    VOID = frozenset(("meta", "wbr"))

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self._open = [], {}, []
        self.feed(text)
        assert not self._open
        self.ids = [attributes["id"] for _, attributes in self.elements if "id" in attributes]
        self.text = self.texts["body"][0]

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("td", "th", "dd"):
            self.handle_data(" ")
        if tag not in self.VOID:
            self._open.append((tag, []))

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        opened, words = self._open.pop()
        assert opened == tag, self.getpos()
        self.texts.setdefault(tag, []).append(" ".join("".join(words).split()))

    def handle_data(self, data):
        for _, words in self._open:
            words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def text():
    return render("A <track>", rows(), "2025-03-02T10:00:00+00:00")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


@pytest.fixture(scope="module")
def sections(page):
    """The text of each exercise's section, by number; that of the exercises without a result as 0."""
    return {int(text[:2]) if text[:2].isdigit() else 0: text for text in page.texts["section"][1:]}


def test_head_and_outline(text, page):
    assert text.startswith("<!DOCTYPE html>\n")
    assert page.all("html") == [{"lang": "en"}]
    assert page.texts["title"] == page.texts["h1"] == ["A <track>: results"]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all("meta")
    assert "written 2025-03-02 10:00 UTC" in page.text
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
    assert all(below <= above + 1 for above, below in pairwise(levels))


def test_track_at_a_glance(page):
    assert "2 of 8 solved, 20 of 80 points Next: grader check 02_sum" in page.text
    assert [line for line in page.texts["tr"] if " of 10" in line] == [
        "01 Add ✓ passed 10 of 10 interpreter",
        "02 Sum ✗ failed: wrong values 0 of 10 interpreter",
        "03 Two ways ✓ passed 10 of 10 gpu 1.01, 1.25",
        "04 Stub – not started 0 of 10 interpreter",
        "05 Odd ! grader error 0 of 10 interpreter",
        "06 Slow ✗ failed: too slow 0 of 10 gpu 2.41",
        "07 Old – changed since it passed 0 of 10 interpreter",
        "08 Later – not checked 0 of 10",
    ]
    assert {"class": "part", "width": "25.0%", "height": "100%", "rx": "2"} in page.all("rect")


def test_header_cells_have_a_scope(page):
    assert {cell.get("scope") for cell in page.all("th")} == {"col", "row"}


def test_every_mark_has_its_word(text, sections):
    said = re.findall(r'<span aria-hidden="true">(.)</span> ([^<]*)</span>', text)
    begins = {
        "✓": ("passed", "meets"),
        "✗": ("failed", "misses"),
        "–": ("not run", "not started", "not checked", "changed since", "unclear"),
        "!": ("grader error",),
    }
    assert all(words.startswith(begins[mark]) for mark, words in said), said
    assert {mark for mark, _ in said} == set(begins) == set(MARKS.values())
    alone = re.findall(r'aria-hidden="true">(.)</span>(?! [^<]*</span>)(.*)', text)
    assert {(mark, words.split()[0].rstrip(":")) for mark, words in alone} == {("✓", "Passed")}


def test_verdicts_are_those_of_the_terminal(sections):
    passed = "✓ Passed on the CPU interpreter: 1 of 2 checks passed. 1 needs a GPU."
    assert passed in sections[1]
    assert "✗ failed: wrong values 1 of 4 checks passed. Edit exercises/02_sum/kernel.py" in sections[2]
    assert "Read the task: exercises/02_sum/spec.md. Stuck? grader hint 02" in sections[2]
    assert "✓ Passed: 3 of 4 checks passed on NVIDIA H200." in sections[3]
    assert "– not started 0 of 1 checks passed." in sections[4]
    assert "! grader error The grader or this machine could not do it; this is not your kernel's fault." in sections[5]


def test_engine_and_device_come_first(sections):
    assert sections[1].startswith("01 Add Checked on the CPU interpreter, 2025-03-01 09:30 UTC")
    assert sections[3].startswith("03 Two ways Checked on NVIDIA H200, 2025-03-01 09:30 UTC")
    assert "engine gpu device NVIDIA H200" in sections[3]


def test_checks_are_grouped_by_function(page, sections):
    assert "sum ✓ passed one tile ✗ failed transposed inputs: wrong values 4 of 5 are wrong first: out[1]" in sections[2]
    assert '– not run 2 more: "transposed inputs" comes first long rows · values far from zero' in sections[2]
    assert "– not run large: needs a GPU" in sections[1]
    assert "one_way ✓ passed tiles ✓ passed speed on 8 × 8 other_way ✓ passed tiles – unclear speed" in sections[3]
    assert Counter(page.texts["h3"])["one_way"] == 1


def test_timing_stands_against_its_target(page):
    wanted = (
        "one_way on 4 × 32 × 4096 × 128 float16, True ✓ meets, excellent 1.012 0.992 to 1.032 1.25 405 µs 400 µs 3.95 TB/s",
        "other_way on 4 × 32 × 4096 × 128 float16, True too close to tell – unclear 1.248 1.228 to 1.268 1.25 499 µs 400 µs",
        "f on 4 × 32 × 4096 × 128 float16, True ✗ misses 2.413 2.393 to 2.433 1.25 965 µs 400 µs 1.66 TB/s, 39%",
    )
    found = [line for line in page.texts["tr"] if "µs" in line]
    assert all(line.startswith(begin) for line, begin in zip(found, wanted, strict=True)), found


def test_seed_versions_sandbox_and_date_are_told(sections):
    told = sections[1][sections[1].index("How it was checked") :]
    assert "file exercises/01_add/kernel.py, SHA-256 0123456789abcdef… engine interpreter" in told
    assert "seed 4607046117 versions grader 0.1.0, triton 3.7.1 sandbox Landlock version 7: files confined" in told
    assert "date 2025-03-01 09:30 UTC, 3.6 s" in told


def test_paths_of_the_machine_are_not_told(text):
    assert "/home/ada" not in text


def test_stale_is_marked_before_the_old_verdict(sections):
    said = sections[7]
    assert "– changed since it passed. All that follows is about the file as it was then." in said
    assert said.index("Check it again: grader check 07_old") < said.index("✓ Passed on the CPU interpreter")


def test_exercises_without_a_result_get_one_line(page, sections):
    assert sections[0].startswith("Not checked yet 08 Later: grader check 08_later")
    assert 8 not in sections


def test_learners_text_is_never_markup(text, page):
    assert "<script" not in text.lower()
    assert "<b>" not in text
    shown = '<script>alert("1")</script>&amp;[31m \'end'
    assert any(f"sum of <b>x</b> {shown} a very long line" in printed for printed in page.texts["pre"])
    assert any(f"KeyError {shown}" in reason for reason in page.texts["pre"])
    assert all(c.isprintable() or c == "\n" for c in text)
    text.encode()


def test_page_needs_nothing_beside_itself(text, page):
    assert not re.search(r"https?:|url\(|@import|@font-face", text)
    assert {tag for tag, _ in page.elements}.isdisjoint(
        ("script", "link", "img", "iframe", "object", "embed", "base", "form")
    )
    names = {name for _, attributes in page.elements for name in attributes}
    assert not [name for name in names if name in ("src", "srcset", "style") or name.startswith("on")]
    assert all(link["href"].startswith("#") for link in page.all("a"))


def test_every_internal_link_has_a_target():
    odd = Exercise('09_"odd" & <id>', "Odd", 1, ("f",), 20.0, ())
    page = Page(render("Track", [*rows(), TrackRow(odd, None)], "now"))
    targets = {unquote(link["href"].removeprefix("#")) for link in page.all("a")}
    assert len(targets) == 10
    assert targets <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)
    referred = {attributes["aria-labelledby"] for _, attributes in page.elements if "aria-labelledby" in attributes}
    assert referred <= set(page.ids)


def test_empty_and_solved_tracks_have_a_page():
    assert "0 of 0 solved, 0 of 0 points All of it is solved." in Page(render("Track", [], "now")).text
    page = Page(render("Track", rows()[:1], "now"))
    assert "1 of 1 solved, 10 of 10 points All of it is solved." in page.text
    assert "Not checked yet" not in page.text


def test_colours_have_contrast(text):
    """At least 4.5 to 1 for every colour of text, on both backgrounds, in light, dark and print."""
    schemes = [dict(re.findall(r"--([a-z-]+): (#\w+);", block)) for block in re.findall(r":root {(.*?)}", text, re.DOTALL)]
    assert len(schemes) == 3
    for scheme in schemes:
        backgrounds = [scheme.pop("page"), scheme.pop("soft")]
        scheme.pop("line")
        assert len(scheme) == 7
        for name, colour in scheme.items():
            assert min(contrast(colour, background) for background in backgrounds) >= 4.5, (name, colour)


def contrast(one, other):
    """WCAG 2's contrast ratio."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_templates_and_tables_are_shipped():
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    shipped = {
        path
        for package, patterns in tool["package-data"].items()
        for pattern in patterns
        for path in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    assert {path for kind in ("*.jinja", "*.toml") for path in (ROOT / "grader").rglob(kind)} == shipped


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """The toy course after a check of a kernel that is right and of one that prints and raises."""
    toy = shutil.copytree(TOY, tmp_path_factory.mktemp("checked") / "toy")
    solve(toy, "01_double")
    path = toy / "exercises/02_negate/kernel.py"
    path.write_text('def negate(x):\n    print("<i>here</i>")\n    raise ValueError("<script>")\n')
    grader(toy, "check", "01", "02", code=1)
    return toy


def test_report_writes_one_page_of_the_last_results(checked, tmp_path):
    toy = shutil.copytree(checked, tmp_path / "toy")
    assert grader(toy, "report", "--html", "out/report.html") == "Wrote out/report.html\n"
    assert [path.name for path in (toy / "out").iterdir()] == ["report.html"]
    page = Page((toy / "out/report.html").read_text())
    assert page.texts["h1"] == ["A toy course: results"]
    assert "1 of 2 solved, 3 of 7 points" in page.text
    assert "Edit exercises/02_negate/kernel.py" in page.text
    assert "ValueError: <script>" in page.text
    assert "<i>here</i>" in page.text


def test_report_marks_stale_results_and_replaces_an_old_page(checked, tmp_path):
    toy = shutil.copytree(checked, tmp_path / "toy")
    (toy / "report.html").write_text("an old page")
    path = toy / "exercises/01_double/kernel.py"
    path.write_text(path.read_text() + "\n# a thought\n")
    (toy / ".grader/results/02_negate.json").unlink()
    grader(toy, "report", "--html", "report.html")
    page = Page((toy / "report.html").read_text())
    assert "01 Double – changed since it passed 0 of 3" in page.text
    assert "02 Negate: grader check 02_negate" in page.text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [([], "grader report --html FILE"), (["--html", "exercises"], "exercises is a folder; name a file")],
)
def test_wrong_use_of_report_is_one_sentence(toy, arguments, says):
    said = grader(toy, "report", *arguments, code=2)
    assert says in said
    assert said.count("\n") == 1


def test_report_does_not_import_torch(toy):
    code = "import sys; sys.argv = ['grader', 'report', '--html', 'report.html']; import grader.cli\n"
    code += "try: grader.cli.main()\nexcept SystemExit: pass\n"
    code += "print(sorted({'torch', 'triton', 'numpy'} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=toy, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["Wrote report.html", "[]"]


# Gives Chromium the ends of two pipes as its descriptors 3 and 4, where it expects them.
WIRE = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for descriptor, end in zip((3, 4), ends):
    os.dup2(end, descriptor)
os.execvp(sys.argv[3], sys.argv[3:])
"""
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 120  # seconds that one answer of the browser may take


class Browser:
    """A headless Chromium with one tab, spoken to in the DevTools protocol over a pipe."""

    def __init__(self, chromium, profile):
        hears, self._say = os.pipe()
        self._hear, says = os.pipe()
        command = [sys.executable, "-c", WIRE, str(hears), str(says), chromium, *FLAGS, f"--user-data-dir={profile}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, pass_fds=(hears, says), start_new_session=True, **quiet)
        os.close(hears)
        os.close(says)
        self._heard, self._asked, self._session, self.events = b"", 0, {}, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Log", "Runtime", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **parameters):
        self._asked += 1
        message = {"id": self._asked, "method": method, "params": parameters, **self._session}
        os.write(self._say, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._asked:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path):
        self.events.clear()
        self.ask("Page.navigate", url=path.as_uri())
        while not self.happened("Page.loadEventFired"):
            self._next()

    def happened(self, *methods):
        return [event["params"] for event in self.events if event["method"] in methods]

    def look(self, width, scheme="light", media="screen"):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setScrollbarsHidden", hidden=True)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[feature])

    def value(self, expression):
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def press(self, key, code):
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def close(self):
        os.close(self._say)
        os.close(self._hear)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _next(self):
        """The next message; an event is kept, too."""
        while b"\0" not in self._heard:
            assert select.select([self._hear], [], [], PATIENCE)[0], "Chromium is silent"
            part = os.read(self._hear, 1 << 16)
            assert part, "Chromium has gone away"
            self._heard += part
        message, _, self._heard = self._heard.partition(b"\0")
        answer = json.loads(message)
        if "method" in answer:
            self.events.append(answer)
        return answer


@pytest.fixture(scope="module")
def browser(tmp_path_factory, text):
    """A browser that shows the page of `rows()`, loaded from disk."""
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("no chromium on PATH: Debian and Ubuntu have a package of that name")
    folder = tmp_path_factory.mktemp("browser")
    (folder / "report.html").write_text(text)
    with closing(Browser(chromium, folder / "profile")) as browser:
        browser.open(folder / "report.html")
        yield browser


# The first elements that stick out of the page to the right, but for what lies in a box that scrolls by itself.
STICKS_OUT = """
[...document.body.querySelectorAll("*")].filter(e => !e.closest("thead") && !e.parentElement.closest(".scroll, .output")
  && e.getBoundingClientRect().right > innerWidth + 0.5).slice(0, 5).map(e => e.outerHTML.slice(0, 80))
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_browser_shows_the_page_without_overflow(browser, tmp_path, width, scheme):
    browser.look(width, scheme)
    assert browser.value("innerWidth") == width
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value(STICKS_OUT) == []
    browser.screenshot(tmp_path / "page.png")
    data = (tmp_path / "page.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">2I", data[16:24]) == (width, 800)
    assert browser.value("getComputedStyle(document.body).backgroundColor") == (
        "rgb(253, 253, 252)" if scheme == "light" else "rgb(23, 25, 28)"
    )


def test_browser_has_nothing_to_complain_about(browser):
    browser.value("document.title")  # whatever came before has arrived by then
    assert browser.happened("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown") == []
    assert [event["request"]["url"].rpartition("/")[2] for event in browser.happened("Network.requestWillBeSent")] == [
        "report.html"
    ]


def test_links_work_from_the_keyboard(browser):
    browser.look(1200)
    browser.press("Tab", 9)
    assert browser.value("document.activeElement.textContent") == "01 Add"
    assert browser.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press("Tab", 9)
    browser.press("Enter", 13)
    assert browser.value("location.hash") == "#ex-02_sum"
    assert browser.value("Math.abs(document.querySelector(':target').getBoundingClientRect().top) < 1")


def test_print_is_black_on_white_and_whole(browser):
    browser.look(672, "dark", "print")  # the width of A4 between its margins
    assert browser.value("document.documentElement.scrollWidth") <= 672
    assert browser.value(STICKS_OUT.replace(".scroll, .output", ".none")) == []
    colours = "[...document.querySelectorAll('body *')].map(e => getComputedStyle(e).color)"
    assert browser.value(f"[...new Set({colours})]") == ["rgb(0, 0, 0)"]
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    broken = "[...document.querySelectorAll('.check')].filter(e => getComputedStyle(e).breakInside != 'avoid').length"
    assert browser.value(broken) == 0
    assert base64.b64decode(browser.ask("Page.printToPDF")["data"]).startswith(b"%PDF")
