"""Write the JSON Schemas in docs/ anew, from the structs they describe."""

import importlib
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
SCHEMAS = {
    "bench": ("specchat.bench.record", "record_schema"),
    "catalog": ("specchat.pairing.catalog", "catalog_schema"),
    "check": ("specchat.commands.check", "report_schema"),
    "conversation": ("specchat.chat.exported", "export_schema"),
    "doctor": ("specchat.commands.doctor_report", "report_schema"),
    "models": ("specchat.commands.models", "report_schema"),
    "pairs": ("specchat.pairing.planned", "pairs_schema"),
    "run": ("specchat.headless", "report_schema"),
    "settings": ("specchat.settings", "settings_schema"),
}


def main() -> None:
    """All of them; a file that is up to date stays as it is."""
    for name, (module, function) in SCHEMAS.items():
        schema: bytes = getattr(importlib.import_module(module), function)()
        file = DOCS / f"{name}.schema.json"
        text = schema.decode().rstrip("\n") + "\n"
        if not file.is_file() or file.read_text() != text:
            file.write_text(text)
            print(f"wrote {file.name}")


if __name__ == "__main__":
    main()
