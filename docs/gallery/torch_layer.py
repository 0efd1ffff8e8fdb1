"""
A PyTorch model with a layer of catad
=====================================

Heat flows through a wall whose conductivity is unknown. ``catad.torch.as_function`` makes the banded solve of the
temperatures a function of PyTorch tensors, whose gradients autograd asks of catad. A small network gives the conductivity
at each place, and Adam trains it on noisy temperatures. ``torch.autograd.gradcheck`` confirms the gradients.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.linalg import solveh_banded

import catad.torch

n = 100
place = np.linspace(0.0, 1.0, n + 1)
truth = 1.0 + 0.8 * np.exp(-(((place - 0.35) / 0.1) ** 2)) - 0.5 * (place > 0.7)


def temperatures(conductivity):
    """Inside the wall under even heating; the faces are cold."""
    bands = np.stack([np.append(0.0, -conductivity[1:-1]), conductivity[:-1] + conductivity[1:]])
    return solveh_banded(bands * n**2, np.full(n, 10.0))


torch.set_num_threads(1)  # the tensors are small
layer = catad.torch.as_function(temperatures)
some = 1.0 + torch.rand(n + 1, dtype=torch.float64, generator=torch.manual_seed(0))
some.requires_grad_()
assert torch.autograd.gradcheck(layer, (some,))

noise = 0.004 * np.random.default_rng(0).normal(size=n)
measured = torch.from_numpy(temperatures(truth) + noise)
sizes = ((1, 32), (32, 32), (32, 1))
layers = [part for size in sizes for part in (torch.nn.Linear(*size), torch.nn.Tanh())]
model = torch.nn.Sequential(*layers[:-1]).double()
optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for _ in range(300):
    conductivity = torch.exp(model(4.0 * torch.from_numpy(place)[:, None] - 2.0)[:, 0])
    loss = torch.mean((layer(conductivity) - measured) ** 2)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    losses.append(loss.item())

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(place, truth, "--", color="0.5", label="true")
left.plot(place, conductivity.detach(), label="found")
left.set(title="conductivity", xlabel="place in the wall", ylim=(0, None))
left.legend()
right.semilogy(losses)
right.axhline(np.mean(noise**2), color="0.6", linewidth=1, label="noise")
right.set(title="loss", xlabel="step of Adam")
right.legend()
plt.show()
