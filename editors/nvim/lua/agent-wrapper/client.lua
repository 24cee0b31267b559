--- A process of `agent-wrapper run`: one JSON object a line in both directions.
---
--- libuv is used directly, which Neovim 0.9 and later have in the same form: only so
--- can reading stop while the editor is behind, which makes the agent wait instead of
--- filling memory. Lines are handled in slices of a few milliseconds, between which
--- Neovim draws and takes keys.

local uv = vim.uv or vim.loop

---@class agent_wrapper.Client
---@field alive boolean
---@field private lines string[] lines that were read, from first to last
---@field private first integer
---@field private last integer
local Client = {}
Client.__index = Client

-- Reading stops at most lines or bytes that wait, and goes on at few.
local most_lines, most_bytes, few = 4000, 8 * 1024 * 1024, 500
-- A slice ends after so many nanoseconds.
local slice = 8e6
-- The longest line, as the binary itself has it, and some room.
local longest = 20 * 1024 * 1024
-- How much of what the process says on standard error is kept.
local most_complaints = 4000

---@class agent_wrapper.ClientOptions
---@field command string[]
---@field cwd string
---@field event fun(event: table) each line
---@field idle fun() after each slice
---@field exit fun(code: integer, signal: integer, complaints: string)

--- Starts the process.
---@param o agent_wrapper.ClientOptions
---@return agent_wrapper.Client? client
---@return string? problem
function Client.start(o)
  local self = setmetatable({
    options = o, alive = true, lines = {}, first = 1, last = 0, bytes = 0, rest = {}, rest_bytes = 0,
    complaints = "", reading = false, open = 2,
  }, Client)
  self.stdin, self.stdout, self.stderr = uv.new_pipe(false), uv.new_pipe(false), uv.new_pipe(false)
  self.timer = uv.new_timer()
  local handle, problem = uv.spawn(o.command[1], {
    args = vim.list_slice(o.command, 2),
    cwd = o.cwd,
    stdio = { self.stdin, self.stdout, self.stderr },
    hide = true,
  }, function(code, signal)
    self.code, self.signal = code, signal
    self:wake()
  end)
  if not handle then
    for _, h in ipairs({ self.stdin, self.stdout, self.stderr, self.timer }) do
      h:close()
    end
    return nil, problem
  end
  self.handle = handle
  self:read()
  self.stderr:read_start(function(_, data)
    if data then
      self.complaints = (self.complaints .. data):sub(-most_complaints)
    else
      self:ended()
    end
  end)
  return self
end

---@private
function Client:read()
  if self.reading or self.stdout_ended then
    return
  end
  self.reading = true
  self.stdout:read_start(function(_, data)
    if data then
      self:feed(data)
    else
      self.stdout_ended = true
      self:ended()
    end
  end)
end

---@private
function Client:ended()
  self.open = self.open - 1
  self:wake()
end

--- Takes in what was read: whole lines wait for their slice, the rest for its end.
---@private
---@param data string
function Client:feed(data)
  local from = 1
  while true do
    local at = data:find("\n", from, true)
    if not at then
      break
    end
    self:push(table.concat(self.rest) .. data:sub(from, at - 1))
    self.rest, self.rest_bytes = {}, 0
    from = at + 1
  end
  if from <= #data then
    self.rest_bytes = self.rest_bytes + #data - from + 1
    if self.rest_bytes <= longest then
      table.insert(self.rest, data:sub(from))
    else
      self.rest = { "(too long)" } -- no JSON, hence reported
    end
  end
  if self.last - self.first >= most_lines or self.bytes >= most_bytes then
    self.stdout:read_stop()
    self.reading = false
  end
  self:wake()
end

---@private
---@param line string
function Client:push(line)
  self.last = self.last + 1
  self.lines[self.last] = line
  self.bytes = self.bytes + #line
end

--- Has a slice handled soon. A timer comes after input, a scheduled function would not.
---@private
function Client:wake()
  if self.timer:is_closing() or self.timer:is_active() then
    return
  end
  self.timer:start(1, 0, vim.schedule_wrap(function()
    self:handle_slice()
  end))
end

---@private
function Client:handle_slice()
  local until_ = uv.hrtime() + slice
  while self.first <= self.last and uv.hrtime() < until_ do
    local line = self.lines[self.first]
    self.lines[self.first] = nil
    self.first = self.first + 1
    self.bytes = self.bytes - #line
    self:handle_line(line)
  end
  self.options.idle()
  if self.last - self.first < few and self.alive then
    self:read()
  end
  if self.first <= self.last then
    self:wake()
  elseif self.code and self.open == 0 then
    self:close()
  end
end

---@private
---@param line string
function Client:handle_line(line)
  if line:match("^%s*$") then
    return
  end
  local ok, event = pcall(vim.json.decode, line, { luanil = { object = true, array = true } })
  if ok and type(event) == "table" and type(event.type) == "string" then
    event.line = line
    self.options.event(event)
  else
    self.options.event({ type = "warning", message = "cannot read a line from agent-wrapper: " .. line:sub(1, 200) })
  end
end

--- Writes one line, which must be JSON, and returns whether the process is there.
---@param line string
---@return boolean
function Client:write(line)
  if not self.alive or self.stdin:is_closing() then
    return false
  end
  return (pcall(self.stdin.write, self.stdin, line .. "\n"))
end

--- Sends a message.
---@param message table
---@return boolean
function Client:send(message)
  return self:write(vim.json.encode(message))
end

--- Ends standard input: what waits is denied and the agent ends.
function Client:finish()
  if not self.stdin:is_closing() then
    self.stdin:close()
  end
end

--- Kills the process.
function Client:kill()
  if self.alive and self.handle then
    self.handle:kill("sigkill")
  end
end

---@private
function Client:close()
  if not self.alive then
    return
  end
  self.alive = false
  for _, h in ipairs({ self.stdin, self.stdout, self.stderr, self.timer, self.handle }) do
    if not h:is_closing() then
      h:close()
    end
  end
  self.options.exit(self.code, self.signal, self.complaints)
end

return Client
