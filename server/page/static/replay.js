export default {
  name: 'replay',
  title: 'Replay',
  match: /^\/history\/recording\/([^/]+)$/,
  mount(root, ctx) {
    root.className += ' sheet';
    root.append(ctx.h('h1', null, 'Replay'), ctx.h('p', { class: 'empty' }, 'Nothing here yet.'));
    return () => {};
  },
};
