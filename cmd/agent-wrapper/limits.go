package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// limitFlags are the limits of a run; zero means no limit.
type limitFlags struct {
	turns  turns
	budget dollars
	time   span
}

func (l *limitFlags) add(flags *pflag.FlagSet) {
	flags.Var(&l.turns, "max-turns", "`number` of turns the agent may take")
	flags.Var(&l.budget, "max-budget-usd", "US `dollars` the agent may spend")
	flags.Var(&l.time, "timeout", "`time` the run may take, such as 90s or 10m; then the agent and all that it started are ended (exit code 124)")
}

// overtime is the cause of a context that --timeout ended.
type overtime struct{ limit span }

func (o *overtime) Error() string { return "it took longer than --timeout " + o.limit.String() }

// within returns a context that ends when the time is over.
func (l *limitFlags) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.time == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, time.Duration(l.time), &overtime{l.time})
}

// turns is the value of a flag: a whole number of at least 1.
type turns int

// Set reads a number.
func (t *turns) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("write a whole number, at least 1")
	}
	*t = turns(n)
	return nil
}

func (t *turns) String() string { return zeroEmpty(int(*t) == 0, strconv.Itoa(int(*t))) }

// Type returns pflag's name of the type.
func (t *turns) Type() string { return "int" }

// dollars is the value of a flag: an amount above 0.
type dollars float64

// Set reads an amount.
func (d *dollars) Set(text string) error {
	amount, err := strconv.ParseFloat(text, 64)
	if err != nil || !(amount > 0) || math.IsInf(amount, 0) {
		return errors.New("write an amount above 0, such as 2 or 0.50")
	}
	*d = dollars(amount)
	return nil
}

func (d *dollars) String() string { return zeroEmpty(*d == 0, fmt.Sprint(float64(*d))) }

// Type returns pflag's name of the type.
func (d *dollars) Type() string { return "float" }

// span is the value of a flag: a time above 0.
type span time.Duration

// Set reads a time with its unit.
func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New(timeWanted(text))
	}
	*s = span(d)
	return nil
}

func (s *span) String() string { return zeroEmpty(*s == 0, time.Duration(*s).String()) }

// Type returns pflag's name of the type.
func (s *span) Type() string { return "duration" }

// zeroEmpty returns text, or "" for a flag that is not given: help then shows no
// default.
func zeroEmpty(zero bool, text string) string {
	if zero {
		return ""
	}
	return text
}
