export default {
  name: 'rules',
  title: 'Rules',
  match: /^\/rules$/,
  mount(root, ctx) {
    root.className += ' sheet';
    root.append(ctx.h('h1', null, 'Rules'), ctx.h('p', { class: 'empty' }, 'Nothing here yet.'));
    return () => {};
  },
};
