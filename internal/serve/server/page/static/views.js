// The views, one line each. The first whose match fits the route is shown.
import inbox from './inbox.js';
import sessions from './sessions.js';
import terminal from './terminal.js';
import history from './history.js';
import replay from './replay.js';
import recordings from './recordings.js';
import rules from './rules.js';
import devices from './devices.js';

export default [inbox, sessions, terminal, history, replay, recordings, rules, devices];
