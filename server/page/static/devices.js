export default {
  name: 'devices',
  title: 'Devices',
  match: /^\/devices$/,
  mount(root, ctx) {
    root.className += ' sheet';
    root.append(ctx.h('h1', null, 'Devices'), ctx.h('p', { class: 'empty' }, 'Nothing here yet.'));
    return () => {};
  },
};
