"""A torch program with Adam and a schedule: attention over rows of digits, with clipped and accumulated gradients."""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

ACCUMULATE, EPOCHS = 2, 2


class Rows(nn.Module):
    """Reads a picture as a sequence of rows. Each row attends to the others."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.position = nn.Linear(8, 32), nn.Parameter(torch.zeros(8, 32))
        self.query, self.key, self.value = nn.Linear(32, 32), nn.Linear(32, 32), nn.Linear(32, 32)
        self.norm, self.classify = nn.LayerNorm(32), nn.Linear(32, 10)

    def forward(self, rows: Tensor) -> Tensor:
        """Return the scores of ten digits."""
        values = self.embed(rows) + self.position
        attended = nn.functional.scaled_dot_product_attention(self.query(values), self.key(values), self.value(values))
        return self.classify(self.norm(values + attended).mean(dim=1))


torch.manual_seed(7)
pictures, digits = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(pictures / 16, dtype=torch.float32).view(-1, 8, 8), torch.tensor(digits))
loader = DataLoader(data, batch_size=50, shuffle=True)
model, loss_of = Rows(), nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
schedule = OneCycleLR(optimizer, max_lr=0.01, total_steps=EPOCHS * len(loader) // ACCUMULATE)

for epoch in range(EPOCHS):
    total = 0.0
    for step, (rows, labels) in enumerate(loader):
        loss = loss_of(model(rows), labels) / ACCUMULATE
        loss.backward()
        total += loss.item() * ACCUMULATE * labels.size(0)
        if step % ACCUMULATE == ACCUMULATE - 1:
            norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
            if step % 10 == 9:
                print(f"epoch {epoch} step {step:2} loss {loss.item() * ACCUMULATE:.5f} gradient {norm:.4f}")
    print(f"epoch {epoch} loss {total / len(data):.5f}")
