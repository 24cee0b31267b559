#!/bin/sh
# It stands for "agent-wrapper hook HOST" in tests: what the policy denies is denied in its
# words, and starting a subagent is not.
input=$(cat)
words=$(sed -n 's/^message = "\(.*\)"/\1/p' "$XDG_CONFIG_HOME/agent-wrapper/agent-wrapper.toml")
case $input in
*'"tool_name":"Agent"'* | *'spawn_agent"'* | *'"invoke_agent"'* | *'"tool_name":"agent"'* | *'"toolName":"task"'*) words= ;;
esac
if [ "$2" = claude ]; then
  answer=allow
  [ -z "$words" ] || answer=deny
  printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"%s","permissionDecisionReason":"%s"}}\n' "$answer" "$words"
elif [ "$2" = copilot ] && [ -n "$words" ]; then # it does not show the model what is on standard error
  printf '{"permissionDecision":"deny","permissionDecisionReason":"%s"}\n' "$words"
elif [ -n "$words" ]; then
  echo "$words" >&2
  exit 2
fi
