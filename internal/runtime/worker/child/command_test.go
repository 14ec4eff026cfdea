package child

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/command"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// printing is a command that prints stdout, or fails.
type printing struct {
	stdout   string
	err      error
	tooLarge error // of CheckInput
	ran      []string
}

var errOutput = errors.New("the output is too large")

func (p *printing) CheckInput(int) error { return p.tooLarge }

func (p *printing) Call(_ context.Context, r engine.Prepared) (engine.Held, error) {
	p.ran = append(p.ran, strings.Join(r.Args, " "))
	return engine.Held{Result: call.Result{Body: []byte(p.stdout), Fuel: 7}}, p.err
}

func (p *printing) OutputError() error { return errOutput }

func TestCommandRequests(t *testing.T) {
	failed, tooLarge := errors.New("failed"), errors.New("the input is too large")
	const params = `{"name":"say","arguments":{"word":"hi"}}`
	for name, c := range map[string]struct {
		program printing
		params  string
		want    string // in the response
		err     error
		runs    int
		busy    int // calls of Busy
	}{
		"a run":                         {printing{stdout: "out"}, params, `"out"`, nil, 1, 0},
		"a run that fails":              {printing{err: failed}, params, "", failed, 1, 0},
		"an unknown tool":               {printing{}, `{"name":"other"}`, "unknown tool", nil, 0, 0},
		"an input above the limit":      {printing{tooLarge: tooLarge}, params, "", tooLarge, 0, 0},
		"an output above the limit":     {printing{stdout: strings.Repeat("\x00", 200<<10)}, params, "", errOutput, 1, 1},
		"parameters of 64 KiB":          {printing{}, params + strings.Repeat(" ", 64<<10-len(params)), "content", nil, 1, 0},
		"parameters of more":            {printing{}, params + strings.Repeat(" ", 64<<10-len(params)+1), "content", nil, 1, 1},
		"an output of 64 KiB":           {printing{stdout: strings.Repeat("a", 64<<10)}, params, "aaa", nil, 1, 0},
		"an output of more than 64 KiB": {printing{stdout: strings.Repeat("a", 64<<10+1)}, params, "aaa", nil, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			setup := wire.Setup{Limits: wire.Limits{Output: 300 << 10},
				Commands: command.Tools{"say": {Args: []command.Item{{Literal: "say"}, {Arg: "word", Type: command.String}}}}}
			busy := 0
			r := engine.Prepared{Request: &call.Request{Method: abi.MethodToolsCall, Params: []byte(c.params)}, Busy: func() { busy++ }}
			response, err := commandRequester(setup, &c.program)(t.Context(), r)
			if !errors.Is(err, c.err) || !strings.Contains(string(response.Body), c.want) {
				t.Errorf("got %.200q, %v; want %q, %v", response.Body, err, c.want, c.err)
			}
			if want := fmt.Sprint([]string{"say hi"}[:c.runs]); fmt.Sprint(c.program.ran) != want || busy != c.busy {
				t.Errorf("the program ran with %q, and Busy was called %d times; want %s and %d", c.program.ran, busy, want, c.busy)
			}
			if c.runs > 0 && response.Fuel != 7 {
				t.Errorf("the run used %d instructions, want 7", response.Fuel)
			}
		})
	}
}
