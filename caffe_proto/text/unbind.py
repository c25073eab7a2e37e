"""From a message to the fields of a prototxt, in the order of Caffe's own writer."""

from __future__ import annotations

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from caffe_proto.text.document import Body, Entry, Scalar
from caffe_proto.text.scalars import text_of


def unbind(message: Message) -> Body:
    """The fields that are set; those that no schema names are left as comments."""
    body = Body()
    for field, value in message.ListFields():
        if field.name == "stored":
            continue
        for item in value if field.is_repeated else [value]:
            body.entries.append(_entry(field, item))
    unknown = UnknownFieldSet(message)
    body.closing = [f"# unknown field {unknown[index].field_number}" for index in range(len(unknown))]
    return body


def _entry(field: FieldDescriptor, value: object) -> Entry:
    if isinstance(value, Message):
        return Entry(field.name, [unbind(value)])
    assert isinstance(value, (int, float, bool, str, bytes))
    return Entry(field.name, [Scalar(text_of(value, field), isinstance(value, (str, bytes)))])
