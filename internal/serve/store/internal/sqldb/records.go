package sqldb

import (
	"context"
	"database/sql"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

func scanChat(row scanner) (c store.Chat, err error) {
	var text []byte
	err = row.Scan(&c.Seq, &c.ConversationID, &c.SessionID, &c.Sender, &c.Type, &text, instant{&c.Time})
	c.Text = string(text)
	return c, err
}

// AppendChat adds entries to their conversations.
func (d *DB) AppendChat(ctx context.Context, entries ...store.Chat) ([]store.Chat, error) {
	out := append([]store.Chat(nil), entries...)
	err := d.write(ctx, func(tx *sql.Tx) (err error) {
		for i := range out {
			c := &out[i]
			if c.Seq, err = d.next(ctx, tx, "chat "+c.ConversationID, 1); err != nil {
				return err
			}
			if _, err = tx.ExecContext(ctx, `INSERT INTO chat (conversation, seq, session, sender, type, body, at)
				VALUES ($1, $2, $3, $4, $5, $6, $7)`,
				c.ConversationID, c.Seq, c.SessionID, c.Sender, c.Type, []byte(c.Text), nanos(c.Time)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Chat returns entries of a conversation.
func (d *DB) Chat(ctx context.Context, conversation, session string, after int64, limit int) ([]store.Chat, error) {
	var c conditions
	c.add("conversation = $%d", conversation)
	c.equal("session", session)
	c.add("seq > $%d", after)
	return readAll(ctx, d, scanChat, `SELECT seq, conversation, session, sender, type, body, at FROM chat`+c.text+
		` ORDER BY seq`+c.limit(limit), c.args...)
}

// LastChat returns the number of a conversation's last entry.
func (d *DB) LastChat(ctx context.Context, conversation string) (int64, error) {
	return readOne(ctx, d, func(row scanner) (last int64, err error) { return last, row.Scan(&last) },
		`SELECT coalesce(max(seq), 0) FROM chat WHERE conversation = $1`, conversation)
}

// Converse makes a conversation that of an agent, unless it is one's already, and returns
// whose it is.
func (d *DB) Converse(ctx context.Context, conversation, agent string) (string, error) {
	err := d.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO conversations (id, agent) VALUES ($1, $2) ON CONFLICT DO NOTHING`, conversation, agent)
		return err
	})
	if err != nil {
		return "", err
	}
	return readOne(ctx, d, func(row scanner) (agent string, err error) { return agent, row.Scan(&agent) },
		`SELECT agent FROM conversations WHERE id = $1`, conversation)
}

// AppendAudit adds lines of a server's record.
func (d *DB) AppendAudit(ctx context.Context, server string, after int64, lines ...[]byte) error {
	if len(lines) == 0 {
		return nil
	}
	return d.write(ctx, func(tx *sql.Tx) error {
		n := int64(len(lines))
		last, err := d.next(ctx, tx, "audit "+server, n)
		if err != nil {
			return err
		}
		if last-n != after {
			return store.ErrChanged
		}
		seq, err := d.next(ctx, tx, "audit", n)
		if err != nil {
			return err
		}
		for i, line := range lines {
			at := int64(i) + 1 - n
			if _, err := tx.ExecContext(ctx, `INSERT INTO audit (seq, server, number, line) VALUES ($1, $2, $3, $4)`,
				seq+at, server, last+at, append([]byte{}, line...)); err != nil {
				return err
			}
		}
		return nil
	})
}

func scanAudit(row scanner) (l store.AuditLine, err error) {
	err = row.Scan(&l.Seq, &l.Server, &l.Number, &l.Line)
	return l, err
}

// Audit returns lines of a server, or of all.
func (d *DB) Audit(ctx context.Context, server string, after int64, limit int) ([]store.AuditLine, error) {
	var c conditions
	c.add("seq > $%d", after)
	c.equal("server", server)
	return readAll(ctx, d, scanAudit, `SELECT seq, server, number, line FROM audit`+c.text+` ORDER BY seq`+c.limit(limit), c.args...)
}

// AuditServers returns how many lines there are of each server.
func (d *DB) AuditServers(ctx context.Context) (map[string]int64, error) {
	counted, err := readAll(ctx, d, scanCount, `SELECT name, value FROM counters WHERE name LIKE 'audit %'`)
	servers := map[string]int64{}
	for _, l := range counted {
		servers[strings.TrimPrefix(l.Server, "audit ")] = l.Number
	}
	return servers, err
}

func scanCount(row scanner) (l store.AuditLine, err error) {
	err = row.Scan(&l.Server, &l.Number)
	return l, err
}
