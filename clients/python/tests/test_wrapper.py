import asyncio
import sys
import unittest
from typing import Any

from agent_wrapper import HANDED_ON, AgentWrapper, Denied, Result, WrapperError, guarded

from .setup import ROOT, WORK, start


def bash(wrapper: AgentWrapper, command: str, **more: Any) -> Any:
    return wrapper.can_use_tool("Bash", {"command": command}, cwd=str(WORK), **more)


class Test(unittest.IsolatedAsyncioTestCase):
    def denied(self, result: Result, words: str) -> None:
        self.assertEqual(result.behavior, "deny", result)
        self.assertRegex(result.message, words)

    async def test_allow(self) -> None:
        async with start() as wrapper:
            result = await bash(wrapper, "echo hi")
        self.assertTrue(result.allowed, result)
        self.assertEqual(result.updated_input, {"command": "echo hi"})
        self.assertTrue(result.decision["reason"])

    async def test_deny_with_the_words_of_the_policy(self) -> None:
        async with start() as wrapper:
            self.denied(await bash(wrapper, "rm a.txt"), r"denied by rule Bash\(rm:\*\)")

    async def test_a_tool_of_ones_own(self) -> None:
        async with start() as wrapper:
            run = guarded(wrapper, "run_shell", lambda input: f"ran {input['cmd']}", cwd=str(WORK))
            self.assertEqual(await run({"cmd": "echo hi"}), "ran echo hi")
            with self.assertRaisesRegex(Denied, "rm"):
                await run({"cmd": "rm a.txt"})

    async def test_an_ask_with_nobody_there(self) -> None:
        async with start() as wrapper:
            self.assertFalse(wrapper.can_ask)
            self.denied(await bash(wrapper, "touch t"), "nobody to ask")

    async def test_an_ask_that_a_person_answers(self) -> None:
        questions = []

        def approve(question: Any) -> Any:
            questions.append(question)
            return {"choice": "once"}

        async with start(on_approve=approve) as wrapper:
            self.assertTrue((await bash(wrapper, "touch t", tool_use_id="u1")).allowed)
        self.assertEqual(questions[0]["tool_use_id"], "u1")
        self.assertEqual(questions[0]["input"], {"command": "touch t"})

    async def test_words(self) -> None:
        async with start(on_approve=lambda _: {"choice": "words", "message": "use git"}) as wrapper:
            self.denied(await bash(wrapper, "touch t"), "use git")

    async def test_an_edited_input_is_decided_anew(self) -> None:
        async with start(on_approve=lambda _: {"choice": "edit", "input": {"command": "echo t"}}) as wrapper:
            self.assertEqual((await bash(wrapper, "touch t")).updated_input, {"command": "echo t"})
        async with start(on_approve=lambda _: {"choice": "edit", "input": {"command": "rm a.txt"}}) as wrapper:
            self.denied(await bash(wrapper, "touch t"), "rm")

    async def test_an_approver_that_fails(self) -> None:
        def broken(question: Any) -> Any:
            raise RuntimeError("the bell is broken")

        for approver in (broken, lambda _: {"choice": "yes"}, lambda _: {"choice": object()}, lambda _: None):
            async with start(on_approve=approver) as wrapper:
                self.denied(await bash(wrapper, "touch t"), ".")

    async def test_an_approver_for_one_tool_use(self) -> None:
        async with start(on_approve=lambda _: {"choice": "deny"}) as wrapper:
            self.assertTrue((await bash(wrapper, "touch t", on_approve=lambda _: {"choice": "once"})).allowed)
            self.denied(await bash(wrapper, "touch t"), ".")

    async def test_an_approver_is_not_forgotten_with_another_tool_use_of_the_same_id(self) -> None:
        async with start() as wrapper:
            first = asyncio.create_task(bash(wrapper, "touch t", tool_use_id="c1", on_approve=lambda _: {"choice": "once"}))
            await asyncio.sleep(0)  # it begins
            self.denied(await wrapper.can_use_tool("Bash", {"command": object()}, tool_use_id="c1"), "JSON")
            self.assertTrue((await first).allowed)

    async def test_a_question_that_is_handed_on(self) -> None:
        asked: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        async def approve(question: Any) -> Any:
            asked.set_result(question)
            return HANDED_ON

        async with start(on_approve=approve) as wrapper:
            deciding = asyncio.create_task(bash(wrapper, "touch t"))
            question = await asked
            with self.assertRaises(WrapperError):
                await wrapper.answer(question["id"], "another", {"choice": "once"})
            await wrapper.answer(question["id"], question["digest"], {"choice": "once"})
            self.assertTrue((await deciding).allowed)
            with self.assertRaises(WrapperError):
                await wrapper.answer(question["id"], question["digest"], {"choice": "once"})

    async def test_a_cancelled_call_withdraws_its_question(self) -> None:
        asked, cancelled = asyncio.Event(), asyncio.Event()
        withdrawn: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def approve(question: Any) -> Any:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        async with start(on_approve=approve, on_withdrawn=lambda id, why: withdrawn.set_result(why)) as wrapper:
            deciding = asyncio.create_task(bash(wrapper, "touch t"))
            await asked.wait()
            deciding.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await deciding
            self.assertTrue(await withdrawn)
            await cancelled.wait()
            self.assertTrue((await bash(wrapper, "echo hi")).allowed)

    async def test_a_timeout_denies(self) -> None:
        async with start(on_approve=lambda _: HANDED_ON) as wrapper:
            self.denied(await bash(wrapper, "touch t", timeout=0.05), "too long")

    async def test_explain_decides_nothing(self) -> None:
        async with start() as wrapper:
            found = await wrapper.explain("Bash", {"command": "touch t"}, cwd=str(WORK))
        self.assertEqual(found["decision"]["behavior"], "ask")

    async def test_sessions_the_policy_and_outcomes(self) -> None:
        async with start(on_approve=lambda _: {"choice": "session"}) as wrapper:
            self.assertTrue((await bash(wrapper, "touch t", session="s", tool_use_id="u1")).allowed)
            await wrapper.outcome("u1", failed=False, exit=0, session="s")
            with self.assertRaisesRegex(WrapperError, "recorded already"):
                await wrapper.outcome("u1", failed=False, session="s")
            (grant,) = (await wrapper.session("rules", "s"))["grants"]
            self.assertRegex(grant["rule"], r"^Bash\(touch")
            self.assertEqual((await wrapper.session("revoke", "s", grant=grant["id"]))["grants"], [])
            await wrapper.session("pause", "s", reason="look first")
            self.denied(await bash(wrapper, "echo hi", session="s"), "look first")
            await wrapper.session("unpause", "s")
            await wrapper.session("close", "s")
            self.assertIn("Bash(touch:*)", str(await wrapper.policy()))

    async def test_a_hundred_asks_answered_in_another_order(self) -> None:
        waiting: list[asyncio.Future[Any]] = []

        async def approve(question: Any) -> Any:
            waiting.append(asyncio.get_running_loop().create_future())
            mine = waiting[-1]
            if len(waiting) == 100:
                for answer in reversed(waiting):
                    answer.set_result(None)
            await mine
            even = int(question["input"]["command"].split()[1]) % 2 == 0
            return {"choice": "once" if even else "deny"}

        async with start(on_approve=approve) as wrapper:
            results = await asyncio.gather(*(bash(wrapper, f"touch {i}") for i in range(100)))
        for i, result in enumerate(results):
            self.assertEqual(result.allowed, i % 2 == 0, result)
            if result.allowed:
                self.assertEqual(result.updated_input, {"command": f"touch {i}"})

    async def test_an_input_that_is_no_json(self) -> None:
        async with start() as wrapper:
            self.denied(await wrapper.can_use_tool("Bash", {"command": object()}), "JSON")
            self.denied(await wrapper.can_use_tool("Bash", {"command": float("nan")}), "JSON")
            self.denied(await bash(wrapper, "x" * (16 << 20)), "too large")
            self.denied(await bash(wrapper, "echo \ud800"), ".")
            self.assertTrue((await bash(wrapper, "echo hi")).allowed)

    async def test_a_wrapper_that_is_closed(self) -> None:
        wrapper = start()
        self.assertTrue((await bash(wrapper, "echo hi")).allowed)
        await wrapper.close()
        self.denied(await bash(wrapper, "echo hi"), r"agent-wrapper has ended \(exit code 0\)")
        with self.assertRaisesRegex(WrapperError, "has ended"):
            await wrapper.explain("Bash", {"command": "echo hi"})
        await wrapper.close()

    async def test_a_wrapper_that_breaks_denies_this_and_all_that_follows(self) -> None:
        line = "import sys, time; sys.stdin.readline(); sys.stdout.buffer.write(%r); sys.stdout.flush(); time.sleep(99)"
        for script, words in {
            "import sys; print('bad policy', file=sys.stderr); sys.exit(2)": "exit code 2: bad policy",
            "import os, sys; sys.stdin.readline(); os.kill(os.getpid(), 9)": "signal 9",
            line % b"hello\n": "cannot be read",
            line % b"[]\n": "cannot be read",
            line % b"\xff\n": "cannot be read",
            line % b'{"id":null,"error":{"code":-32700,"message":"no JSON"}}\n': "no JSON",
        }.items():
            with self.subTest(script):
                wrapper = AgentWrapper(command=[sys.executable, "-c", script])
                self.denied(await bash(wrapper, "echo hi"), words)
                self.denied(await bash(wrapper, "echo hi"), "nothing runs without it")
                await wrapper.close()
        wrapper = AgentWrapper(command=["/nonexistent/agent-wrapper"])
        self.denied(await bash(wrapper, "echo hi"), "No such file")
        self.denied(await bash(wrapper, "echo hi"), "nothing runs without it")
        await wrapper.close()

    async def test_an_answer_that_is_no_plain_allow(self) -> None:
        for answer in ("null", '"allow"', "{}", '{"behavior":"allow"}', '{"behavior":"allow","updatedInput":[]}',
                       '{"behavior":"Allow","updatedInput":{}}', '{"behavior":"ask"}'):
            with self.subTest(answer):
                script = f"import sys; sys.stdin.readline(); print('{{\"id\":1,\"result\":' + {answer!r} + '}}', flush=True); sys.stdin.read()"
                wrapper = AgentWrapper(command=[sys.executable, "-c", script])
                self.denied(await bash(wrapper, "echo hi"), ".")
                await wrapper.close()

    async def test_the_example(self) -> None:
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-u", str(ROOT / "examples/loop.py"), stdin=pipe, stdout=pipe, cwd=WORK
        )
        said, _ = await child.communicate(b"y\n")
        self.assertRegex(
            said.decode(), r"(?s)ran echo hello: hello.*touch made.*Run it\?.*ran touch made.*denied by rule Bash\(rm:\*\)"
        )
        self.assertTrue((WORK / "made").exists())
