//go:build !wasip1

package sdktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

const askManifest = `
manifest = 1
[plugin]
name = "asker"
version = "0.1.0"
description = "for tests"
[capabilities]
ask = [%s]
[offers]
prompts = ["ask"]
resources = ["ask://"]
[[tools]]
name = "ask"
description = "Asks"
access = "read"
`

const accepted = `{"action":"accept","content":{"name":"Ada"}}`

// asker returns a host of a plugin whose tool, prompt and resource all call handle.
func asker(t *testing.T, kinds string, handle func(context.Context) (string, error)) *sdktest.Host {
	t.Helper()
	p := sdk.New()
	sdk.HandleTool(p, "ask", func(ctx context.Context, _ json.RawMessage) (*sdk.ToolResult, error) {
		text, err := handle(ctx)
		if err != nil {
			return nil, fmt.Errorf("wrapped: %w", err)
		}
		return sdk.Text(text), nil
	})
	p.HandlePrompts(sdk.Prompts{
		List: func(context.Context) ([]sdk.Prompt, error) { return nil, nil },
		Get: func(ctx context.Context, _ string, _ map[string]string) (*sdk.PromptResult, error) {
			text, err := handle(ctx)
			return &sdk.PromptResult{Description: text}, err
		},
	})
	p.HandleResources(sdk.Resources{
		List: func(context.Context) ([]sdk.Resource, error) { return nil, nil },
		Read: func(ctx context.Context, uri string) ([]sdk.ResourceContents, error) {
			text, err := handle(ctx)
			return []sdk.ResourceContents{{URI: uri, Text: text}}, err
		},
	})
	file := filepath.Join(t.TempDir(), "plugin.toml")
	if err := os.WriteFile(file, fmt.Appendf(nil, askManifest, kinds), 0o644); err != nil {
		t.Fatal(err)
	}
	return sdktest.New(t, p, file)
}

// askName asks for a name with a form.
func askName(ctx context.Context) (string, error) {
	answer, err := sdk.Elicit(ctx, "name", sdk.Form{Message: "Who?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
	if err != nil {
		return "", err
	}
	if !answer.Accepted() {
		return "it was " + answer.Action, nil
	}
	var who struct{ Name string }
	err = answer.Decode(&who)
	return "Hello, " + who.Name, err
}

func TestHandlersAskTheClient(t *testing.T) {
	const all = `"elicitation", "sampling", "roots"`
	for name, c := range map[string]struct {
		kinds   string
		handle  func(context.Context) (string, error)
		answers map[string]string
		want    string // the expected result, or a part of the expected error
		asked   string // the expected ids and methods of the questions
	}{
		"a form":            {all, askName, map[string]string{"name": accepted}, "Hello, Ada", "name elicitation/create"},
		"a declined form":   {all, askName, map[string]string{"name": `{"action":"decline"}`}, "it was decline", "name elicitation/create"},
		"no content":        {all, askName, map[string]string{"name": `{"action":"accept"}`}, "the answer has no content", "name elicitation/create"},
		"an answer missing": {all, askName, nil, `no answer to the question "name"`, "name elicitation/create"},
		"no manifest entry": {``, askName, nil, "the client cannot be asked", ""},
		"another kind":      {`"roots"`, askName, nil, `the question "name" needs elicitation by forms`, "name elicitation/create"},
		"a URL": {all, func(ctx context.Context) (string, error) {
			answer, err := sdk.OpenURL(ctx, "key", sdk.Link{Message: "m", URL: "https://example.com/"})
			if err != nil {
				return "", err
			}
			return answer.Action, nil
		}, map[string]string{"key": `{"action":"accept"}`}, "accept", "key elicitation/create"},
		"a message of the model, in a second round": {all, func(ctx context.Context) (string, error) {
			name, err := askName(ctx)
			if err != nil {
				return "", err
			}
			message, err := sdk.Sample(ctx, "poem", sdk.Sampling{MaxTokens: 5, Messages: []sdk.PromptMessage{{Role: "user", Content: sdk.TextContent{Text: name}}}})
			if err != nil {
				return "", err
			}
			return message.Text(), nil
		}, map[string]string{"name": accepted, "poem": `{"role":"assistant","model":"m","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}`},
			"a\nb", "name elicitation/create, poem sampling/createMessage"},
		"a rejected message": {all, func(ctx context.Context) (string, error) {
			_, err := sdk.Sample(ctx, "poem", sdk.Sampling{MaxTokens: 5})
			refused := (*sdk.ClientError)(nil)
			if errors.As(err, &refused) {
				return refused.Error(), nil
			}
			return "", err
		}, map[string]string{"poem": `{"error":{"code":-1,"message":"rejected"}}`}, "the client: rejected (-1)", "poem sampling/createMessage"},
		"the client's directories": {all, func(ctx context.Context) (string, error) {
			roots, err := sdk.ListRoots(ctx, "dirs")
			return fmt.Sprint(roots), err
		}, map[string]string{"dirs": `{"roots":[{"uri":"file:///a","name":"A"}]}`}, "[{file:///a A}]", "dirs roots/list"},
		"several at once, the unanswered ones": {all, func(ctx context.Context) (string, error) {
			if _, err := sdk.ListRoots(ctx, "dirs"); err != nil {
				return "", err
			}
			answers, err := sdk.Ask(ctx, map[string]sdk.Question{"b": sdk.RootsQuestion{}, "a": sdk.Form{Message: "m"}, "dirs": sdk.RootsQuestion{}})
			return fmt.Sprint(len(answers)), err
		}, map[string]string{"dirs": `{"roots":[]}`, "a": `{"action":"cancel"}`, "b": `{"roots":[]}`}, "3", "dirs roots/list, a elicitation/create, b roots/list"},
		"a state": {all, func(ctx context.Context) (string, error) {
			if state := sdk.State(ctx); state != "" {
				return state, nil
			}
			sdk.SetState(ctx, "kept <&>")
			_, err := sdk.Ask(ctx, nil)
			return "", err
		}, nil, "kept <&>", ""},
		"what the client can be asked": {`"roots"`, func(ctx context.Context) (string, error) {
			client := sdk.Client(ctx)
			return fmt.Sprint(client.Elicitation == nil, client.Sampling == nil, client.Roots != nil), nil
		}, nil, "true true true", ""},
		"an endless conversation": {all, func(ctx context.Context) (string, error) {
			sdk.SetState(ctx, "again")
			_, err := sdk.Ask(ctx, nil)
			return "", err
		}, nil, "asked the client more than 10 times", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for method, params := range map[string]any{
				abi.MethodToolsCall: map[string]any{"name": "ask"}, abi.MethodPromptsGet: map[string]any{"name": "ask"}, abi.MethodResourcesRead: map[string]any{"uri": "ask://x"},
			} {
				h := asker(t, c.kinds, c.handle)
				for id, answer := range c.answers {
					h.Answer(id, answer)
				}
				result, err := h.Request(method, params)
				got := string(result)
				if err != nil {
					got = err.Error()
				}
				want, _ := json.Marshal(c.want) // encoding a string does not fail
				plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(strings.Trim(string(want), `"`))
				if !strings.Contains(got, plain) && !strings.Contains(got, c.want) {
					t.Errorf("%s: got %s, want %s", method, got, plain)
				}
				var asked []string
				for _, q := range h.Asked() {
					asked = append(asked, q.ID+" "+q.Method)
				}
				if diff := cmp.Diff(c.asked, strings.Join(asked, ", ")); diff != "" {
					t.Errorf("%s: %s", method, diff)
				}
			}
		})
	}
}

// If a handler asks questions, it is run once for each round of questions, each time from its start.
func TestHandlerIsRunAgainForEachAnswer(t *testing.T) {
	runs := 0
	h := asker(t, `"elicitation"`, func(ctx context.Context) (string, error) {
		runs++
		return askName(ctx)
	})
	h.Answer("name", accepted)
	if _, err := h.CallTool("ask", ""); err != nil || runs != 2 {
		t.Errorf("%d runs, want 2; %v", runs, err)
	}
}

// A test sets the client's answers before it makes the call.
func ExampleHost_Answer() {
	test := func(t *testing.T) {
		host := sdktest.New(t, plugin(), "plugin.toml")
		host.Answer("name", `{"action": "accept", "content": {"name": "Ada"}}`)
		result, err := host.CallTool("invite", `{}`)
		if err != nil || result.Text() != "Dear Ada" {
			t.Errorf("got %+v, %v", result, err)
		}
	}
	_ = test // a test function, which go test would run
}
