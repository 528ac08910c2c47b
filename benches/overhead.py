#!/usr/bin/env python3
"""What the executor costs on top of its tasks, beside GNU make and ninja in one run.

    benches/overhead.py [--plan PATH] [--xtask PATH] [--tasks N] [--jobs N] [--rounds N] [--command TEXT]

Writes the same graph three times (wide: no edges; layered: layers of 100 tasks, each waiting for three),
runs the tools in turn, round after round, and prints wall time, CPU time and peak memory as medians, and as
medians of the ratios to each peer within a round. The log is durable, as always. `ninja, kept` is ninja whose
commands write their streams into two files each, as every attempt of a plan does: what a tool that keeps them
pays the system at least. `bare` (`cargo xtask bare`, where `--xtask` is built) starts the program of the list
commands, keeps its streams and waits, and nothing else: the floor of any executor. Or it works for some
microseconds after each: how much one may spend on each task before it is slower than another. Or it makes the
system calls that a durable log and the checks of an attempt owe: how much of that is left. make runs a recipe that is
only `:` without any shell at all, so the default command is one that all three give to `sh`. All search
programs on a short `PATH`, since list commands are searched by us and builtins of the shell are not.
"""
import argparse, os, pathlib, resource, shutil, statistics, subprocess, sys, tempfile, time

PATH = "/usr/local/bin:/usr/bin:/bin"


def edges(shape, at):
    if shape == "wide" or at < 100:
        return []
    return [(at // 100 - 1) * 100 + (at + k) % 100 for k in range(3)]


def write(folder, shape, tasks, command):
    name = lambda at: f"t{at}"
    with open(folder / "Makefile", "w") as f:
        f.write(".PHONY: all " + " ".join(map(name, range(tasks))) + "\nall: " + " ".join(map(name, range(tasks))) + "\n")
        for at in range(tasks):
            f.write(f"t{at}: {' '.join(map(name, edges(shape, at)))}\n\t@{command}\n")
    with open(folder / "build.ninja", "w") as f:
        f.write(f"rule r\n  command = {command}\n")
        for at in range(tasks):
            f.write(f"build t{at}: r {' '.join(map(name, edges(shape, at)))}\n")
    with open(folder / "kept.ninja", "w") as f:
        f.write(f"rule r\n  command = {{ {command}; }} >kept/$out.out 2>kept/$out.err\n")
        for at in range(tasks):
            f.write(f"build t{at}: r {' '.join(map(name, edges(shape, at)))}\n")
    for file, shell, run in (("shell.plan", "sh", f'"{command}"'), ("list.plan", "sh", '["true"]')):
        with open(folder / file, "w") as f:
            f.write(f'plan "overhead" {{ shell = "{shell}" }}\n')
            for at in range(tasks):
                f.write(f"command t{at} {{ depends_on = [{', '.join(map(name, edges(shape, at)))}], run = {run} }}\n")


def measure(argv, folder):
    # Moved aside, not removed: some file systems take up to half a millisecond to make a file for minutes
    # after many were removed, and that is nobody's overhead.
    for left in (".plan", ".ninja_log", ".ninja_deps", "kept"):
        if (folder / left).exists():
            (folder / left).rename(folder / f"old-{time.monotonic_ns()}")
    (folder / "kept").mkdir()
    start = time.monotonic()
    process = subprocess.Popen(argv, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env=os.environ | {"PATH": PATH})
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    if status:
        sys.exit(f"{argv[0]} failed: {process.stderr.read().decode()[-500:]}")
    process.stderr.close()
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--plan", default="target/release/plan")
    p.add_argument("--xtask", default="target/release/xtask")
    p.add_argument("--tasks", type=int, default=10_000)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--command", default=": >/dev/null")
    a = p.parse_args()
    plan = str(pathlib.Path(a.plan).resolve())
    with tempfile.TemporaryDirectory(prefix="plan-overhead-") as name:
        for shape in ("wide", "layered"):
            folder = pathlib.Path(name) / shape
            folder.mkdir()
            write(folder, shape, a.tasks, a.command)
            tools = {"plan, shell": [plan, "run", "--plan", "shell.plan", "--jobs", str(a.jobs), "--quiet"],
                     "plan, list": [plan, "run", "--plan", "list.plan", "--jobs", str(a.jobs), "--quiet"],
                     "make": ["make", f"-j{a.jobs}", "-s"], "ninja": ["ninja", f"-j{a.jobs}", "--quiet"],
                     "ninja, kept": ["ninja", "-f", "kept.ninja", f"-j{a.jobs}", "--quiet"]}
            # Found on the same path: a wrapper in front of one of them would be measured too.
            found = {k: shutil.which(v[0], path=PATH) for k, v in tools.items()}
            tools = {k: [found[k], *v[1:]] for k, v in tools.items() if found[k]}
            bare = pathlib.Path(a.xtask).resolve()
            works = {"bare": "0", "bare +50 us": "50", "bare +100 us": "100", "bare, owed": "owed"}
            for tool, work in works.items() if bare.exists() else ():
                tools[tool] = [str(bare), "bare", str(a.tasks), str(a.jobs), work, "kept"]
            runs = {k: [] for k in tools}
            for _ in range(a.rounds):
                for tool, argv in tools.items():
                    runs[tool].append(measure(argv, folder))
            print(f"{shape}, {a.tasks} tasks, -j{a.jobs}, `{a.command}`")
            for tool, rows in runs.items():
                wall, cpu, peak = (statistics.median(r[k] for r in rows) for k in range(3))
                ratios = "".join(
                    f"   {statistics.median(r[0] / q[0] for r, q in zip(rows, runs[peer])):.2f} x wall"
                    f" {statistics.median(r[1] / q[1] for r, q in zip(rows, runs[peer])):.2f} x cpu of {peer}"
                    for peer in ("make", "ninja", "ninja, kept") if peer in runs and peer != tool and tool.startswith(("plan", "bare")))
                print(f"  {tool:12} wall {wall:6.2f} s  cpu {cpu:6.2f} s  peak {peak:5.1f} MiB{ratios}")


main()
