"""A classic torch program: a small convolutional net learns digits, in a program that is written for one process."""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(7)

images, labels = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(images / 16, dtype=torch.float32).view(-1, 1, 8, 8), torch.tensor(labels))
train_data, test_data = random_split(data, [1437, 360])

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Dropout(0.2),
    nn.Linear(256, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(2):
    model.train()
    for step, (pixels, digits) in enumerate(DataLoader(train_data, batch_size=64, shuffle=True)):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(pixels), digits)
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"epoch {epoch} step {step:2} loss {loss.item():.5f}")
    model.eval()
    with torch.no_grad():
        right = sum((model(pixels).argmax(1) == digits).sum().item() for pixels, digits in DataLoader(test_data, 100))
    print(f"epoch {epoch} accuracy {right / len(test_data):.3f}")
torch.save(model.state_dict(), "digits.pt")
