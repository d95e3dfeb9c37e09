"""The keys of the list of conversations. Letters go to its search, so none is a letter."""

from textual.binding import Binding, BindingType

BINDINGS: list[BindingType] = [
    Binding("escape,f3", "back", "Back", id="conversations.back"),
    Binding("f1", "app.help", "Help", id="conversations.help"),
    Binding(
        "f2",
        "rename",
        "Rename",
        id="conversations.rename",
        tooltip="Give it another title; an empty one is made from its first exchange again",
    ),
    Binding(
        "f8",
        "delete",
        "Delete",
        id="conversations.delete",
        tooltip="Delete it; it can be brought back",
    ),
    Binding(
        "f4",
        "pin",
        "Pin",
        id="conversations.pin",
        tooltip="Keep it at the top, or no longer",
    ),
    Binding(
        "f5",
        "archive",
        "Archive",
        id="conversations.archive",
        tooltip="Take it out of the list, or put it back",
    ),
    Binding(
        "f6",
        "archived",
        "Archived",
        id="conversations.archived",
        tooltip="Show what is archived, or the others again",
    ),
    Binding(
        "f7",
        "export",
        "Export",
        id="conversations.export",
        tooltip="Write it into the current folder, as Markdown or JSON",
    ),
    Binding(
        "f9",
        "import",
        "Import",
        id="conversations.import",
        tooltip="Bring in a conversation from JSON that specchat exported",
    ),
    Binding(
        "ctrl+z",
        "undo",
        "Undo",
        id="conversations.undo",
        tooltip="Bring back what was deleted last",
    ),
    Binding("up", "go('cursor_up')", "Up", id="conversations.up", show=False),
    Binding("down", "go('cursor_down')", "Down", id="conversations.down", show=False),
    Binding("pageup", "go('page_up')", "Page up", id="conversations.page_up", show=False),
    Binding("pagedown", "go('page_down')", "Page down", id="conversations.page_down", show=False),
]
