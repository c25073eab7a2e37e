"""Small files that ask for much memory or time are refused with a sentence before the work is done."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from caffe_proto.errors import CaffeError, LimitError, UnknownFieldWarning
from caffe_proto.limits import Limit
from netdsl import Net
from netdsl.checking.dry_run import dry_run
from netdsl.layers.prior_box import PriorBox
from netdsl.layers.proposal import Proposal
from netdsl.net.build import build
from netdsl.net.graph import Phase, resolve
from netdsl.net.memory import allocate_layers
from tests.attacks import builders
from zoo.cards import parse_card


def built_of(text: str):
    return build(resolve(from_text(text, pb.NetParameter), Phase.TEST))


def test_a_net_of_countless_layers_is_refused() -> None:
    with pytest.raises(LimitError, match="the net needs 5,001 layers or more, but the limit 'layers' allows 5,000"):
        built_of(builders.many_layers(5_001))


def test_countless_boxes_are_refused_before_they_are_listed() -> None:
    with pytest.raises(LimitError, match=r"layer 'p': each position of the map needs [0-9,]+ boxes or more"):
        built_of(builders.prior_boxes(2000, 5150))


@pytest.mark.parametrize("dialect", ["pvanet", "happynear"])
def test_countless_anchors_are_refused_before_they_are_listed(dialect: str) -> None:
    many = [1.0] * 200
    layer = pb.LayerParameter(
        top=["rois"], dialects=[dialect], proposal_param=pb.ProposalParameter(scale=many, ratio=many)
    )
    with pytest.raises(LimitError, match="each position of the map needs 40,000 boxes or more"):
        Proposal(layer, [(1, 2, 4, 4), (1, 4, 4, 4), (1, 4)])


def test_many_aspect_ratios_are_compared_only_with_near_ones() -> None:
    """As many comparisons as pairs would take minutes."""
    ratios = [1 + index / 1000 for index in range(1, 9000)]
    param = pb.PriorBoxParameter(min_size=[8], img_size=8, flip=False, aspect_ratio=[*ratios, *ratios])
    layer = PriorBox(pb.LayerParameter(top=["p"], prior_box_param=param), [(1, 1, 2, 2)])
    assert len(layer.sides) == 9000


@pytest.mark.parametrize("work", [dry_run, lambda built: allocate_layers(built, "cpu")], ids=["dry run", "weights"])
def test_weights_of_gigabytes_are_refused_before_they_get_memory(work) -> None:
    with pytest.raises(LimitError, match=r"layer 'ip': a blob needs 600,000,000 values or more"):
        work(built_of(builders.huge_filler()))


def test_numbers_with_thousands_of_digits_are_refused_with_a_sentence() -> None:
    levels = "\n".join(f"  - &a{level} [*a{level - 1}, *a{level - 1}]" for level in range(1, 20_000))
    with pytest.raises(CaffeError):
        parse_card(f"---\nname: x\ntags:\n  - &a0 [x]\n{levels}\n---\n", "README.md")
    with pytest.raises(LimitError, match="needs 1,000,000,000,000,000 characters or more"):
        Limit.CARD_CHARACTERS.check(10**5000, "the card")


def test_a_batch_that_no_machine_can_count_is_not_tried() -> None:
    net = """
    layer { name: "d" type: "Input" top: "d" input_param { shape { dim: 1 dim: 8 } } }
    layer { name: "r" type: "Reshape" bottom: "d" top: "r" reshape_param { shape {
      dim: 1099511627776 dim: 100 dim: 1099511627776 } } }"""
    with pytest.raises(CaffeError):
        Net(from_text(net, pb.NetParameter)).shapes()


def test_only_some_unknown_names_are_compared_with_the_known_ones() -> None:
    fields = "\n".join(f"layers_{number}: 1" for number in range(200))
    with pytest.warns(UnknownFieldWarning) as warned:
        from_text(fields, pb.NetParameter, lenient=True)
    assert [("did you mean" in str(each.message)) for each in warned] == [True] * 100 + [False] * 100


def test_a_card_whose_aliases_stand_for_gigabytes_is_refused() -> None:
    with pytest.raises(LimitError, match=r"README\.md: the card with its aliases written out needs 4,[0-9,]* char"):
        parse_card(builders.laughing_card(), "README.md")


def test_a_card_that_repeats_a_few_values_is_read() -> None:
    card = parse_card("---\nname: &name LeNet\nsummary: *name\n---\n", "README.md")
    assert (card.name, card.summary) == ("LeNet", "LeNet")


@pytest.mark.parametrize("text", [builders.deep_card(), "---\nname: &a [*a]\n---\n", "---\nname: x\n? [a]\n: b\n---\n"])
def test_a_card_of_nested_or_endless_values_is_refused(text: str) -> None:
    with pytest.raises(CaffeError, match=r"README\.md: the card"):
        parse_card(text, "README.md")


def test_a_setting_allows_a_larger_net(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETDSL_LIMITS", "layers=2")
    with pytest.raises(LimitError, match="NETDSL_LIMITS=layers=4"):
        Net(from_text(builders.many_layers(3), pb.NetParameter))
    monkeypatch.setenv("NETDSL_LIMITS", "layers=4")
    Net(from_text(builders.many_layers(3), pb.NetParameter))
