"""The training loop that all peers share: FreezePipe's learning rate, evaluation after every epoch, and the clock."""

import json
import math
import pathlib
import statistics
import sys
import time

import torch
import torch.nn.functional as F

# Test images at once. FreezePipe evaluates in batches of 128, one at a time through its stages; these are four such
# micro-batches where an engine cuts batches into 4.
EVALUATION_BATCH = 512


def read_config():
    """The run's settings, a JSON file that the first argument names."""
    return json.loads(pathlib.Path(sys.argv[1]).read_text())


def optimizer(config, parameters):
    return torch.optim.SGD(parameters, config["lr"], momentum=0.9, weight_decay=5e-4)


def train(config, data, optimizer, step, predict):
    """Trains, and returns what there is to record.

    step(batch) goes forward and backward and returns the mean loss; predict(batch) returns logits. Either may return
    None where this process doesn't have the last stage.
    """
    per_epoch = data.steps_per_epoch
    total = config["epochs"] * per_epoch
    steps, losses, accuracies, evaluation = [], [], [], 0.0
    begin = time.perf_counter()
    for number in range(total):
        step_begin = time.perf_counter()
        batch = data.train_batch(number)
        for group in optimizer.param_groups:
            group["lr"] = config["lr"] * 0.5 * (1 + math.cos(math.pi * number / total))
        optimizer.zero_grad()
        losses.append(step(batch))
        optimizer.step()
        steps.append(time.perf_counter() - step_begin)
        if (number + 1) % per_epoch == 0:
            evaluation_begin = time.perf_counter()
            accuracies.append(evaluate(data, predict))
            evaluation += time.perf_counter() - evaluation_begin
    return {
        "train_seconds": time.perf_counter() - begin,
        "evaluation_seconds": evaluation,
        "step_ms": 1e3 * statistics.median(steps),
        "accuracies": accuracies,
        "losses": [float(loss) for loss in losses if loss is not None],
    }


def evaluate(data, predict):
    """Percent of the test set that is right."""
    right = 0
    with torch.no_grad():
        for batch in data.test_batches(EVALUATION_BATCH):
            logits = predict(batch)
            if logits is not None:
                right += int((logits.argmax(1) == batch.labels).sum())
    return 100 * right / len(data.test_labels)


def write_result(config, result):
    pathlib.Path(config["result"]).write_text(json.dumps(result))


def mean_loss(logits, labels):
    return F.cross_entropy(logits, labels)
