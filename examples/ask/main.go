// Ask is a plugin whose tool asks the client from inside a call: the user fills in a form, and the model writes a text.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func init() { sdk.Serve(plugin()) }

func main() {}

func plugin() *sdk.Plugin {
	p := sdk.New()
	sdk.HandleTool(p, "ask_invite", invite)
	return p
}

type invitation struct {
	Occasion string `json:"occasion"`
}

// guestForm is the schema of the form. Its values are choices, strings, numbers and booleans.
var guestForm = json.RawMessage(`{
	"type": "object",
	"required": ["name"],
	"properties": {
		"name": {"type": "string", "title": "Name", "minLength": 1},
		"tone": {"type": "string", "title": "Tone", "enum": ["formal", "friendly"], "default": "friendly"}
	}
}`)

// invite runs up to three times: each question that has no answer yet ends it, and it begins anew with the answer.
func invite(ctx context.Context, i invitation) (*sdk.ToolResult, error) {
	answer, err := sdk.Elicit(ctx, "guest", sdk.Form{Message: "Whom do you invite?", Schema: guestForm})
	if err != nil {
		return nil, err
	}
	if !answer.Accepted() {
		return sdk.Text("No guest is invited."), nil
	}
	var guest struct{ Name, Tone string }
	if err := answer.Decode(&guest); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("Dear %s, you are invited: %s.", guest.Name, i.Occasion)
	if sdk.Client(ctx).Sampling == nil {
		return sdk.Text(text), nil
	}
	written, err := sdk.Sample(ctx, "text", sdk.Sampling{
		MaxTokens: 200,
		Messages: []sdk.PromptMessage{{Role: "user", Content: sdk.TextContent{
			Text: fmt.Sprintf("Write one %s sentence that invites %s: %s.", guest.Tone, guest.Name, i.Occasion),
		}}},
	})
	if refused := (*sdk.ClientError)(nil); errors.As(err, &refused) {
		return sdk.Text(text), nil
	}
	if err != nil {
		return nil, err
	}
	return sdk.Text(written.Text()), nil
}
