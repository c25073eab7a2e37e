"""All grammars by name."""

from __future__ import annotations

from tests.attacks.grammar import Grammar
from tests.attacks.graph_grammar import GraphGrammar
from tests.attacks.net_grammar import NetGrammar
from tests.attacks.text_grammars import ArchiveGrammar, CardGrammar, ListGrammar

GRAMMARS: dict[str, type[Grammar]] = {
    "net": NetGrammar,
    "graph": GraphGrammar,
    "card": CardGrammar,
    "archive": ArchiveGrammar,
    "list": ListGrammar,
}
