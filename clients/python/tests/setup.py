"""Where the tests run: a throw-away workspace, a home, and the program on PATH."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from agent_wrapper import AgentWrapper

ROOT = Path(__file__).resolve().parent.parent
BOX = Path(tempfile.mkdtemp(prefix="agent-wrapper-sdk")).resolve()
WORK, HOME = BOX / "work", BOX / "home"
atexit.register(shutil.rmtree, BOX, ignore_errors=True)

for name in ("work", "home", "bin"):
    (BOX / name).mkdir()
PROGRAM = Path(os.environ.get("AW_BINARY", ROOT / "../../bin/agent-wrapper")).resolve(strict=True)
(BOX / "bin/agent-wrapper").symlink_to(PROGRAM)
os.environ["PATH"] = f"{BOX / 'bin'}:{os.environ['PATH']}"
os.environ["HOME"] = str(HOME)
for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
    os.environ.pop(name, None)
os.environ["PYTHONPATH"] = str(ROOT)
os.chdir(WORK)
(WORK / "a.txt").write_text("alpha\n")
shutil.copy(ROOT / "examples/policy.toml", WORK / "policy.toml")
(BOX / "policy.toml").write_text(
    """
allow = ["Bash(echo:*)", "Bash(ls:*)", "run_shell"]
ask = ["Bash(touch:*)"]
deny = ["Bash(rm:*)"]

[tools.run_shell]
command = "cmd"
"""
)


def start(**more: Any) -> AgentWrapper:
    """A wrapper with the policy of the tests; it has to be closed."""
    flags = ["--isolated", "--policy", str(BOX / "policy.toml"), "--audit", str(BOX / "audit.jsonl")]
    return AgentWrapper(**{"flags": flags, **more})
