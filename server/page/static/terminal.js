export default {
  name: 'terminal',
  title: 'Terminal',
  match: /^\/sessions\/([^/]+)$/,
  mount(root, ctx) {
    root.className += ' sheet';
    root.append(ctx.h('h1', null, 'Terminal'), ctx.h('p', { class: 'empty' }, 'Nothing here yet.'));
    return () => {};
  },
};
