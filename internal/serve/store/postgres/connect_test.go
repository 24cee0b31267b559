package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// No error of a URL shows what may be a password, wherever it stands.
func TestURLIsNotShown(t *testing.T) {
	for _, url := range []string{
		"mysql://u:sesame@h/d", "host=h password=sesame", "postgres://u:sesame@h:port/d", "postgres://u:sesame@h/d?sslmode=sesame",
		"postgres://u:sesame@[/d", "postgres://u:%zzsesame@h/d", "postgresql://h/d?password=sesame&connect_timeout=x", "sesame", "",
		"postgres://h:1/d?sslpassword=sesame&sslcert=/none&sslkey=/none&sslmode=require",
	} {
		_, err := configuration(url)
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "sesame") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestUsable(t *testing.T) {
	tests := []struct {
		version  int
		encoding string
		want     bool
	}{{139999, "UTF8", false}, {oldest, "UTF8", true}, {180001, "UTF8", true}, {150018, "LATIN1", false}, {150018, "SQL_ASCII", false}}
	for _, tt := range tests {
		if err := usable(tt.version, tt.encoding); (err == nil) != tt.want || lost(err) {
			t.Errorf("%d, %s: %v", tt.version, tt.encoding, err)
		}
	}
}

// What is tried again: what another transaction undid, and what was lost on the way.
func TestAgain(t *testing.T) {
	of := func(code string) error { return fmt.Errorf("store: %w", &pgconn.PgError{Code: code}) }
	tests := []struct {
		err            error
		conflict, lost bool
	}{
		{of("40001"), true, false}, {of("40P01"), true, false},
		{of("57P01"), false, true}, {of("57P03"), false, true}, {of("08006"), false, true}, {of("53300"), false, true},
		{of("57014"), false, false}, {of("55P03"), false, false}, {of("23505"), false, false}, {of("28P01"), false, false}, {of("53100"), false, false},
		{io.ErrUnexpectedEOF, false, true}, {driver.ErrBadConn, false, true}, {&net.OpError{Op: "read", Err: errors.New("reset")}, false, true},
		{&unreachable{"no", errors.New("refused")}, false, true}, {&unreachable{"no", of("28P01")}, false, false},
		{context.Canceled, false, false}, {errors.New("other"), false, false},
	}
	for _, tt := range tests {
		if conflict(tt.err) != tt.conflict || lost(tt.err) != tt.lost {
			t.Errorf("%v: conflict %v, lost %v", tt.err, conflict(tt.err), lost(tt.err))
		}
		if got := again(t.Context(), time.Now(), 1, tt.err); got != (tt.conflict || tt.lost) {
			t.Errorf("%v is tried again: %v", tt.err, got)
		}
		if again(t.Context(), time.Now().Add(-patience), conflicts, tt.err) {
			t.Errorf("%v is tried again for ever", tt.err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if again(ended, time.Now(), 1, io.EOF) {
		t.Error("tried again after its end")
	}
}
