export default {
  name: 'sessions',
  title: 'Sessions',
  match: /^\/sessions$/,
  mount(root, ctx) {
    root.className += ' sheet';
    root.append(ctx.h('h1', null, 'Sessions'), ctx.h('p', { class: 'empty' }, 'Nothing here yet.'));
    return () => {};
  },
};
