def run() -> None:
    "demo"
