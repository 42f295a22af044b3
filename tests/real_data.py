#!/usr/bin/env python3
"""Forecasts and fills in cells that were hidden from four tables of examples/, and scores that.

    python3 tests/real_data.py PROGRAM [NAME ...] [--task part3|miss20] [--training]

examples/NAME/held_out.csv names the cells: `part3` is a third of the sequences whose last records are hidden at a time, `miss20` a fifth of all
cells. Every fold is a fit of its own, to the table with the fold's cells empty; folds are pooled. For each cell,

    point     mean of the predictive distribution, for the RMSE         (predictions.csv)
    interval  its 5 % and 95 % quantiles, for the coverage              (predictions.csv)
    density   log of the mean over draws of normal(y | mean, sd), natural, per unit of the table's column: for a model of log(y)
              the normal density of log(y) divided by y                 (chain_N.csv)

With --training nothing that part3 hides is looked at: it is taken away first, and the same is done with what remains. By that, models
may be compared before the cells are scored.

Prints a row per table, task and set of priors. A fit that has not converged is marked, and the exit code is then 1.
"""

import argparse
import csv
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRIORS = ["weak", "informed"]


class Study:
    """A model under examples/, and where its draws have the sd of a cell. `noise(sequence, step)`, both from 1, is a column of chain_N.csv."""

    def __init__(self, model, output, is_log=False, noise=lambda sequence, step: "sigma", is_variance=False, options=()):
        self.model, self.output, self.is_log, self.noise, self.is_variance = model, output, is_log, noise, is_variance
        self.options = list(options)


def phase(sequence, step):
    return "sigma_start" if step == 1 else "sigma_in" if step <= 5 else "sigma_out"


STUDIES = {
    "theoph": Study("one_compartment", "conc", noise=phase, options=["--sweeps", "50"]),
    "orthodont": Study("straight", "distance", noise=lambda sequence, step: f"v.{sequence}", is_variance=True, options=["--sweeps", "30"]),
    "chickweight": Study("smooth", "weight", is_log=True, options=["--sweeps", "20"]),
    "phenobarb": Study("one_compartment", "conc", options=["--sweeps", "40"]),
}


def read_rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def key(row):
    return row["seq"], row["t"]


def folds(name, output, table, is_training):
    """Of each task a list of (cells to hide and score, cells to hide besides)."""
    held_out = read_rows(ROOT / "examples" / name / "held_out.csv")
    tasks = {}
    for task in ["part3", "miss20"]:
        cells = {}
        for row in held_out:
            if row[task]:
                cells.setdefault(row[task], set()).add(key(row))
        tasks[task] = cells
    away = set()
    if is_training:
        away = set().union(*tasks["part3"].values())
        left = {}
        for row in table:
            if row[output] and key(row) not in away:
                left.setdefault(row["seq"], []).append(row)
        for fold, cells in tasks["part3"].items():
            of_fold = {sequence for sequence, _ in cells}
            tasks["part3"][fold] = {key(row) for sequence, rows in left.items() if sequence in of_fold
                                    for row in rows[len(rows) - min(3, len(rows) // 2):]}
        tasks["miss20"] = {fold: cells - away for fold, cells in tasks["miss20"].items()}
    return {task: [(cells[fold], away) for fold in sorted(cells)] for task, cells in tasks.items()}


def fit(program, study, name, priors, table, hidden, folder):
    """Runs the fit. Returns the folder of its run, and the verdict."""
    data = folder / "table.csv"
    with open(data, "w", newline="") as file:
        writer = csv.DictWriter(file, table[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, study.output: ""} if key(row) in hidden else row for row in table)
    run = folder / "run"
    model = ROOT / "examples" / name / f"{study.model}.bam"
    done = subprocess.run([program, "fit", model, "--data", data, "--priors", priors, "-o", run, "--refresh", "0", "--sig-figs", "8", *study.options],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}, {priors}: bam ends with {done.returncode}\n{done.stderr}")
    verdict = next(line for line in done.stdout.splitlines() if line.startswith("verdict: "))
    return run, verdict[len("verdict: "):]


def score(study, run, table, cells):
    """A tuple (squared error, log density, 1 if covered) for each cell."""
    places = {}  # of a cell: sequence and step from 1, in the order of the run
    sequences = {}
    for row in sorted(table, key=lambda row: float(row["t"])):
        sequences.setdefault(row["seq"], []).append(row)
    order = list(dict.fromkeys(row["seq"] for row in table))
    for i, sequence in enumerate(order):
        for j, row in enumerate(sequences[sequence]):
            places[key(row)] = i + 1, j + 1
    truth = {key(row): float(row[study.output]) for row in table if row[study.output]}

    densities = {cell: [] for cell in cells}  # log densities, a number per draw
    for path in sorted(run.glob("chain_*.csv")):
        with open(path) as file:
            lines = (line for line in file if not line.startswith("#"))
            column = {variable: i for i, variable in enumerate(next(lines).strip().split(","))}
            where = [(densities[cell], column["fitted.%d.%d" % places[cell]], column[study.noise(*places[cell])],
                      math.log(truth[cell]) if study.is_log else truth[cell]) for cell in cells]
            for line in lines:
                draw = line.split(",")
                for values, mean, noise, y in where:
                    variance = float(draw[noise]) if study.is_variance else float(draw[noise])**2
                    values.append(-0.5 * (math.log(2 * math.pi * variance) + (y - float(draw[mean]))**2 / variance))
    scores = []
    for row in read_rows(run / "predictions.csv"):
        cell = key(row)
        if cell in cells:
            y, logs = truth[cell], densities[cell]
            highest = max(logs)
            density = highest + math.log(sum(math.exp(value - highest) for value in logs) / len(logs)) - (math.log(y) if study.is_log else 0)
            scores.append(((float(row["mean"]) - y)**2, density, float(row["q5"]) <= y <= float(row["q95"])))
    assert len(scores) == len(cells)
    return scores


def main():
    parser = argparse.ArgumentParser(description="Forecasts and fills in hidden cells of tables in examples/, and scores that.")
    parser.add_argument("program", help="bam, as in build/release/bam")
    parser.add_argument("name", nargs="*", help=f"of {', '.join(STUDIES)}; without it, all")
    parser.add_argument("--task", choices=["part3", "miss20"], help="only this; without it, both")
    parser.add_argument("--training", action="store_true", help="look at nothing that part3 hides")
    options = parser.parse_args()
    unknown = [name for name in options.name if name not in STUDIES]
    if unknown:
        parser.error(f"no study of {', '.join(unknown)}")

    standard = {(row["name"], row["task"]): row for row in read_rows(ROOT / "tests" / "real_data.csv")}
    print("| table | task | priors | RMSE | log density | 90 % coverage | cells |\n|---|---|---|---|---|---|---|")
    are_converged = True
    for name in options.name or STUDIES:
        study = STUDIES[name]
        table = read_rows(ROOT / "examples" / name / f"{name}.csv")
        for task, of_task in folds(name, study.output, table, options.training).items():
            if options.task not in (None, task):
                continue
            for priors in PRIORS:
                scores = []
                for number, (cells, away) in enumerate(of_task, 1):
                    with tempfile.TemporaryDirectory() as folder:
                        run, verdict = fit(options.program, study, name, priors, table, cells | away, pathlib.Path(folder))
                        scores += score(study, run, table, cells)
                    if not verdict.startswith("converged"):
                        are_converged = False
                        print(f"{name} {task}_{number} {priors}: {verdict}", file=sys.stderr)
                n = len(scores)
                rmse, density, coverage = math.sqrt(sum(s[0] for s in scores) / n), sum(s[1] for s in scores) / n, sum(s[2] for s in scores) / n
                print(f"| {name} | {task} | {priors} | {rmse:.3g} | {density:.3f} | {coverage:.2f} | {n} |", flush=True)
            if not options.training:
                best = standard[name, task]
                print(f"| {name} | {task} | best standard | {best['rmse']} ({best['rmse_method']}) | {best['density']} ({best['density_method']}) | {best['coverage']} | {n} |")
    sys.exit(0 if are_converged else 1)


if __name__ == "__main__":
    main()
