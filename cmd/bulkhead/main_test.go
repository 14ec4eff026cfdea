package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
)

func TestAnErrorEndsWith(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"0 where there is none":                    {nil, 0},
		"2 for wrong usage":                        {&host.UsageError{Err: errors.New("no such flag")}, 2},
		"2 for wrong usage among others":           {errors.Join(errors.New("a"), fmt.Errorf("b: %w", &host.UsageError{Err: errors.New("c")})), 2},
		"3 for all else":                           {errors.New("broken"), 3},
		"3 for a command that was stopped":         {context.Canceled, 3},
		"the code of what is printed already":      {silent(1), 1},
		"that code although closing failed behind": {errors.Join(silent(1), errors.New("close")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := report(c.err); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// Every command says what it is for, shows an example of itself, and knows how to be completed.
func TestEveryCommandIsDescribed(t *testing.T) {
	seen := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if name, _, _ := strings.Cut(strings.TrimPrefix(c.CommandPath(), "bulkhead "), " "); name == "completion" || name == "help" {
			return // the library's own
		}
		seen++
		if c.Short == "" || !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s: the help is %q, with the example %q", c.CommandPath(), c.Short, c.Example)
		}
		if c.Args == nil {
			t.Errorf("%s takes any arguments", c.CommandPath())
		}
	}
	visit(newRoot())
	if seen < 8 {
		t.Errorf("only %d commands were seen", seen)
	}
}

func TestEnvIsRead(t *testing.T) {
	t.Setenv("BULKHEAD_TEST_HERE", "from here")
	for name, c := range map[string]struct {
		pairs []string
		want  map[string]string
	}{
		"as none":                         {nil, map[string]string{}},
		"as pairs":                        {[]string{"A=1", "B=2"}, map[string]string{"A": "1", "B": "2"}},
		"as an empty value":               {[]string{"A="}, map[string]string{"A": ""}},
		"as a value with an equals sign":  {[]string{"A=b=c"}, map[string]string{"A": "b=c"}},
		"from here, where only a name is": {[]string{"BULKHEAD_TEST_HERE"}, map[string]string{"BULKHEAD_TEST_HERE": "from here"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseEnv(c.pairs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEnvIsRefusedWithoutItsValue(t *testing.T) {
	const secret = "s3cret"
	for name, c := range map[string]struct {
		pairs []string
		want  string
	}{
		"without a name":  {[]string{"=" + secret}, "--env: a variable's name is missing: write NAME=VALUE"},
		"that is empty":   {[]string{""}, "--env: a variable's name is missing: write NAME=VALUE"},
		"not set here":    {[]string{"BULKHEAD_TEST_UNSET"}, "--env: BULKHEAD_TEST_UNSET is not set here: write BULKHEAD_TEST_UNSET=VALUE"},
		"that comes back": {[]string{"A=" + secret, "A=" + secret}, "--env: A is given twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseEnv(c.pairs)
			var usage *host.UsageError
			if !errors.As(err, &usage) || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
