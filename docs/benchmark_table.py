"""Write docs/benchmarks.md's table, and its picture, from what `grader bench --json FILE` has measured.

    python docs/benchmark_table.py FILE

Everything in docs/benchmarks.md outside the table's marks is written by hand, and stays.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from grader.report import bench  # noqa: E402
from grader.results import BenchResult, Machine  # noqa: E402

PAGE = ROOT / "docs" / "benchmarks.md"
BETWEEN_MARKS = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end of table -->)", re.DOTALL)
# Best peer's time / our time that the solutions aim at; 1.0 where nothing is said. Over eager alone for naive attention:
# torch.compile answers it with a flash kernel, which is another exercise.
BARS = {
    "online_softmax": 1.4,
    "split_online_softmax": 2.2,
    "gelu_exact": 1.05,
    "gelu_approx": 1.14,
    "fused_residual_bias_gelu": 1.1,
    "naive_attention": 2.5,
    "flash_attention with head_dim 128": 0.95,
}


def read(path):
    """The machine and the results in a file of `grader bench --json`."""
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    return Machine.from_json(data["machine"]), [BenchResult.from_json(result) for result in data["results"]]


def bar(result):
    """The ratio that the solutions aim at on one workload."""
    wide = result.function == "flash_attention" and "× 128 " in result.label
    return BARS.get(f"{result.function} with head_dim 128" if wide else result.function, 1.0)


def row(machine, result):
    """One line of the table: our two times, every peer's, and how the best of each compare."""
    rivals = {contender.name: contender for contender in result.contenders}
    peers = [f"{name} {bench.micro(c.seconds)}" for name, c in rivals.items() if name not in bench.OWN and c.seconds]
    own = bench.best_own(result)
    peer = rivals["eager"] if result.function == "naive_attention" else bench.best_peer(result)
    times = [bench.micro(rivals[name].seconds) if name in rivals else "" for name in ("reference", "fast")]
    ratio = peer.seconds / own.seconds
    rate, share = bench.rate(machine, result, own.seconds), f"{result.floor / own.seconds:.0%}"
    cells = (
        f"`{result.function}` {result.label}",
        *times,
        f"{rate}, {share}",
        ", ".join(peers),
        f"{ratio:.3f} of {peer.name}",
    )
    return f"| {' | '.join(cells)} | {bar(result):.2f} |"


def table(machine, results):
    """The table with its heading, as Markdown."""
    head = "workload", "solution", "fast.py", "best of ours, share of the ceiling", "peers", "best peer ÷ ours", "aim"
    heading = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines = [*bench.machine_lines(machine), machine.started]
    return "\n".join(["; ".join(lines), "", *heading, *(row(machine, result) for result in results), ""])


def main(path):
    machine, results = read(path)
    text = BETWEEN_MARKS.sub(lambda _: table(machine, results), PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")
    bench.draw(machine, results, PAGE.with_suffix(".png"))


if __name__ == "__main__":
    main(sys.argv[1])
