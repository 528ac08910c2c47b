#!/usr/bin/env python3
"""What `plan check` takes for large plans: wall time and peak memory of the whole process.

    benches/check.py [--plan PATH] [--rounds N] [--limits]

Lets `cargo xtask generate` write layers, chains, stars and dense layers of 10,000 and 100,000 tasks (dense
ones of 3,000 and 30,000: a plan file has at most 32 MiB) and checks each in turn, round after round. Prints
medians, and the ratio of the larger to the smaller. With `--limits` it exits 1 if layers take more than
60 ms or 60 MiB at 10,000 tasks, or over 600 ms at 100,000, or if a shape grows faster than its plan.
"""
import argparse, os, pathlib, statistics, subprocess, sys, tempfile, time

SIZES = {"layers": (10_000, 100_000), "chain": (10_000, 100_000), "star": (10_000, 100_000), "dense": (3_000, 30_000)}


def measure(plan, file):
    # A process of our own in between: the peak that the system reports for a child begins with the
    # parent's, and Python's is larger than a small check's.
    start = time.monotonic()
    process = subprocess.Popen(["sh", "-c", "exec \"$@\" >/dev/null 2>&1", "sh", plan, "check", file])
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    if status:
        sys.exit(f"plan check {file} failed")
    return wall * 1000, usage.ru_maxrss / 1024


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--plan", default="target/release/plan")
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--limits", action="store_true")
    a = p.parse_args()
    plan = str(pathlib.Path(a.plan).resolve())
    over = []
    with tempfile.TemporaryDirectory(prefix="plan-check-") as name:
        files, rows = {}, {}
        for shape, sizes in SIZES.items():
            for tasks in sizes:
                files[shape, tasks] = f"{name}/{shape}{tasks}.plan"
                with open(files[shape, tasks], "wb") as f:
                    subprocess.run(["cargo", "-q", "xtask", "generate", shape, str(tasks)], stdout=f, check=True)
        for _ in range(a.rounds):
            for key, file in files.items():
                rows.setdefault(key, []).append(measure(plan, file))
        for shape, (small, large) in SIZES.items():
            of = {n: [statistics.median(r[k] for r in rows[shape, n]) for k in range(2)] for n in (small, large)}
            ratio = of[large][0] / of[small][0]
            for n in (small, large):
                size = os.path.getsize(files[shape, n]) / 2**20
                print(f"{shape:7} {n:7} tasks  {size:5.1f} MiB of plan  {of[n][0]:7.1f} ms  peak {of[n][1]:6.1f} MiB")
            print(f"{shape:7} {large // small} times the tasks take {ratio:.1f} times as long")
            # The start of the process is part of the smaller time, so a linear shape stays near ten.
            if ratio > 1.5 * large / small:
                over.append(f"{shape} is not linear")
            if shape == "layers" and (of[small][0] > 60 or of[large][0] > 600 or of[small][1] > 60):
                over.append("layers take more than 60 ms, 600 ms or 60 MiB")
    if a.limits and over:
        sys.exit("; ".join(over))


main()
