if vim.g.loaded_agent_wrapper then
  return
end
vim.g.loaded_agent_wrapper = true

if vim.fn.has("nvim-0.7.2") ~= 1 then
  vim.notify("agent-wrapper needs Neovim 0.9 or later", vim.log.levels.ERROR)
  return
end

local function guarded(fn)
  return function(...)
    return require("agent-wrapper.text").guarded(fn, require("agent-wrapper.approval").failed)(...)
  end
end

vim.api.nvim_create_user_command("AgentWrapper", guarded(function(o)
  require("agent-wrapper.command").run(o.args, o.bang)
end), {
  nargs = "*",
  bang = true,
  desc = "give the agent a task, or see :help :AgentWrapper",
  complete = function(...)
    return require("agent-wrapper.command").complete(...)
  end,
})

vim.keymap.set("n", "<Plug>(agent-wrapper-answer)", guarded(function()
  require("agent-wrapper").answer()
end), { desc = "go to the question that waits" })

local function colours()
  for group, link in pairs({
    AgentWrapperTitle = "Title",
    AgentWrapperCause = "WarningMsg",
    AgentWrapperReady = "Title",
  }) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
end
colours()

local group = vim.api.nvim_create_augroup("agent-wrapper", { clear = true })
vim.api.nvim_create_autocmd("ColorScheme", { group = group, callback = colours })

-- What an agent wrote sets no options when the chat is opened again.
vim.api.nvim_create_autocmd("BufReadPre", {
  group = group,
  pattern = "*/agent-wrapper/chats/*.md",
  command = "setlocal nomodeline",
})
