"""A memory to walk in, in a real Claude Code with a stubbed model: pages, playbooks, and what is assembled of them."""

from pathlib import Path

from tests.e2e.claude_code import TOOL, Machine
from tests.e2e.model_stub import ModelStub, Request, tool_use

DECISION = "Orders leave by the outbox table, not by a queue"


def test_a_session_writes_the_pages_and_the_next_one_gets_the_playbook(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    machine.memem(plugin, "save", "--kind", "decision", f"{DECISION}.", cwd=project)
    machine.says("Good morning, what is on today?", cwd=project)
    machine.settle()
    ours = machine.vault / "memem"
    (page,) = (ours / "projects").glob("*.md")
    (playbook,) = (ours / "playbooks").glob("*.md")
    assert f"[[memem/projects/{page.stem}|" in (ours / "Home.md").read_text(encoding="utf-8")
    assert DECISION in page.read_text(encoding="utf-8")
    assert DECISION in playbook.read_text(encoding="utf-8")
    morning = "Good morning again, what is on tomorrow?"
    machine.says(morning, cwd=project)
    told = next(each for each in stub.requests if morning in each.everything).everything
    assert "Current decisions" in told
    assert DECISION in told


def test_claude_can_have_everything_for_a_task_assembled(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    machine.memem(plugin, "save", "--kind", "decision", f"{DECISION}.", cwd=project)
    machine.memem(plugin, "pages", cwd=project)
    name = f"{TOOL}context_assemble"

    def is_asked(request: Request) -> bool:
        return "how do orders leave" in request.last_message

    stub.answers(is_asked, tool_use(name, query="how do orders leave the shop?"))
    machine.says("Look up how do orders leave.", "--allowedTools", name, cwd=project)
    (result,) = [request.tool_result for request in stub.requests if request.tool_result]
    assert DECISION in result
