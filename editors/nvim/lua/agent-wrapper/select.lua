--- Questions by vim.ui.select, for those who set `ui = "select"`.

local state = require("agent-wrapper.state")
local text = require("agent-wrapper.text")
local page = require("agent-wrapper.question")

local uv = vim.uv or vim.loop
local M = {}

-- An answer that comes earlier, in milliseconds, was typed before the question stood.
local grace = 350

---@param q agent_wrapper.Question
---@return boolean
local function waits(q)
  for _, other in ipairs(state.queue) do
    if other == q then
      return true
    end
  end
  return false
end

---@param q agent_wrapper.Question
---@param items table[]
---@param prompt string
---@param format fun(item: table): string
---@param done fun(item: table, index: integer)
local function pick(q, items, prompt, format, done)
  local began = uv.now()
  vim.ui.select(items, { prompt = prompt, format_item = format, kind = "agent-wrapper" }, text.guarded(function(item, index)
    if not item or not index then
      text.tell(("%d waiting; :AgentWrapper answer asks again"):format(#state.queue))
    elseif uv.now() - began < grace then
      text.tell("that was too fast to be an answer; :AgentWrapper answer asks again", vim.log.levels.WARN)
    elseif not waits(q) then
      text.tell("the question is gone", vim.log.levels.WARN)
    else
      done(item, index)
    end
  end, require("agent-wrapper.approval").failed))
end

---@param q agent_wrapper.Question
---@param reply table
local function answer(q, reply)
  q.chat:answer(q, reply)
  require("agent-wrapper.approval").remove(function(other)
    return other == q
  end)
end

---@param q agent_wrapper.Question
---@param choice table
local function chosen(q, choice)
  if choice.name == "edit" then
    require("agent-wrapper.edit").open(q)
  elseif choice.name == "words" then
    vim.ui.input({ prompt = "Tell the agent: " }, text.guarded(function(said)
      if said and vim.trim(said) ~= "" and waits(q) then
        answer(q, { choice = "words", message = said })
      end
    end, require("agent-wrapper.approval").failed))
  elseif #(choice.rungs or {}) > 0 then
    pick(q, choice.rungs, choice.label, function(rung)
      return table.concat(rung.rules or {}, ", ") .. " - " .. (rung.label or "")
    end, function(_, index)
      local reply = { choice = choice.name, rung = index - 1 }
      if choice.name == "while" then
        reply["for"] = 1800
      end
      answer(q, reply)
    end)
  else
    answer(q, { choice = choice.name })
  end
end

--- Asks a question.
---@param q agent_wrapper.Question
function M.ask(q)
  if q.questions then
    local one = q.questions[q.at]
    pick(q, one.options or {}, text.visible(tostring(one.question)), function(option)
      return text.visible(tostring(option.label))
    end, function(option)
      q.answers[one.question] = option.label
      q.at = q.at + 1
      if q.at <= #q.questions then
        M.ask(q)
        return
      end
      q.chat:chose(q)
      require("agent-wrapper.approval").remove(function(other)
        return other == q
      end)
    end)
    return
  end
  local choices = {}
  for _, choice in ipairs(q.ask.choices or {}) do
    if choice.name and choice.name ~= "" then
      table.insert(choices, choice)
    end
  end
  local shown = page.body(q.ask, vim.o.columns - 2, {}, q.chat.cwd)
  shown:causes(q.ask, q.chat.cwd)
  pick(q, choices, table.concat(shown.lines, "\n"), function(choice)
    return choice.label
  end, function(choice)
    chosen(q, choice)
  end)
end

return M
