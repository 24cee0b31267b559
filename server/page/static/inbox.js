export default {
  name: 'inbox',
  title: 'Inbox',
  match: /^\/inbox(?:\/([^/]+))?$/,
  mount(root, ctx) {
    const draw = () => {
      const waiting = [...ctx.live.approvals.values()].filter((a) => a.status === 'pending');
      root.replaceChildren(ctx.h('p', { class: 'empty' }, waiting.length ? `${waiting.length} questions wait` : 'Nothing waits for an answer.'));
    };
    draw();
    return ctx.live.on('change', draw);
  },
};
