package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Schemas of forms.
const (
	nameSchema    = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	colorSchema   = `{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`
	confirmSchema = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`
	contextSchema = `{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`
	userSchema    = `{"type":"object","properties":{
		"username":{"type":"string","description":"User's response"},
		"email":{"type":"string","description":"User's email address"}},
		"required":["username","email"]}`
	defaultsSchema = `{"type":"object","properties":{
		"name":{"type":"string","description":"User name","default":"John Doe"},
		"age":{"type":"integer","description":"User age","default":30},
		"score":{"type":"number","description":"User score","default":95.5},
		"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
		"verified":{"type":"boolean","description":"Verification status","default":true}}}`
	enumsSchema = `{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[
			{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","items":{"anyOf":[
			{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`
)

func form(message, schema string) sdk.Form {
	return sdk.Form{Message: message, Schema: json.RawMessage(schema)}
}

func sampling(prompt string, tokens int) sdk.Sampling {
	return sdk.Sampling{Messages: says(sdk.TextContent{Text: prompt}), MaxTokens: tokens}
}

func registerAsks(p *sdk.Plugin) {
	sdk.HandleTool(p, "test_sampling", func(ctx context.Context, in struct {
		Prompt string `json:"prompt"`
	}) (*sdk.ToolResult, error) {
		return sample(ctx, "completion", sampling(in.Prompt, 100))
	})
	sdk.HandleTool(p, "test_elicitation", func(ctx context.Context, in struct {
		Message string `json:"message"`
	}) (*sdk.ToolResult, error) {
		return elicit(ctx, "user", form(in.Message, userSchema))
	})
	sdk.HandleTool(p, "test_elicitation_sep1034_defaults", func(ctx context.Context, _ none) (*sdk.ToolResult, error) {
		return elicit(ctx, "defaults", form("Please review these values", defaultsSchema))
	})
	sdk.HandleTool(p, "test_elicitation_sep1330_enums", func(ctx context.Context, _ none) (*sdk.ToolResult, error) {
		return elicit(ctx, "choices", form("Please choose", enumsSchema))
	})
	sdk.HandleTool(p, "test_elicitation_url", func(ctx context.Context, _ none) (*sdk.ToolResult, error) {
		answer, err := sdk.OpenURL(ctx, "page", sdk.Link{Message: "Please sign in", URL: "https://example.com/sign-in"})
		if err != nil {
			return nil, err
		}
		return sdk.Text("The user's choice: " + answer.Action), nil
	})
	sdk.HandleTool(p, "test_missing_capability", func(ctx context.Context, _ none) (*sdk.ToolResult, error) {
		return sample(ctx, "greeting", sampling("Generate a greeting", 50))
	})
	sdk.HandleTool(p, "test_streaming_elicitation", func(ctx context.Context, _ none) (*sdk.ToolResult, error) {
		if err := sdk.Progress(ctx, 1, 2, ""); err != nil {
			return nil, err
		}
		return elicit(ctx, "user_name", form("What is your name?", nameSchema))
	})
	for _, name := range []string{"test_list_roots", "test_input_required_result_list_roots"} {
		sdk.HandleTool(p, name, listRoots)
	}
	sdk.HandleTool(p, "test_input_required_result_sampling", func(ctx context.Context, _ none) (*sdk.ToolResult, error) {
		return sample(ctx, "capital_question", sampling("What is the capital of France?", 100))
	})
	sdk.HandleTool(p, "test_input_required_result_elicitation", greetUser)
	sdk.HandleTool(p, "test_input_required_result_multiple_inputs", askAll)
	sdk.HandleTool(p, "test_input_required_result_capabilities", askSupported)
	sdk.HandleTool(p, "test_input_required_result_multi_round", askTwice)
	for _, name := range []string{"test_input_required_result_request_state", "test_input_required_result_tampered_state"} {
		sdk.HandleTool(p, name, confirm)
	}
}

// elicit returns what the user has chosen and entered.
func elicit(ctx context.Context, id string, f sdk.Form) (*sdk.ToolResult, error) {
	answer, err := sdk.Elicit(ctx, id, f)
	if err != nil {
		return nil, err
	}
	return sdk.Text(fmt.Sprintf("Elicitation completed: action=%s, content=%s", answer.Action, answer.Content)), nil
}

// sample returns what the client's model has answered.
func sample(ctx context.Context, id string, s sdk.Sampling) (*sdk.ToolResult, error) {
	answer, err := sdk.Sample(ctx, id, s)
	if err != nil {
		return nil, err
	}
	return sdk.Text("LLM response: " + answer.Text()), nil
}

func listRoots(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	roots, err := sdk.ListRoots(ctx, "client_roots")
	if err != nil {
		return nil, err
	}
	return sdk.Text(describe(roots)), nil
}

func describe(roots []sdk.Root) string {
	var uris []string
	for _, root := range roots {
		uris = append(uris, root.URI)
	}
	return fmt.Sprintf("The client has %d roots: %s", len(roots), strings.Join(uris, ", "))
}

// entered returns what the user has entered in a field. ok is false if the user did not accept.
func entered[T any](answer *sdk.FormAnswer, field string) (value T, ok bool, err error) {
	if !answer.Accepted() {
		return value, false, nil
	}
	var content map[string]any
	if err := answer.Decode(&content); err != nil {
		return value, false, err
	}
	if value, ok = content[field].(T); !ok {
		return value, false, fmt.Errorf("the client's answer has no valid %s", field)
	}
	return value, true, nil
}

// refused is the result of a tool whose user did not accept.
func refused() *sdk.ToolResult { return sdk.Text("The user did not answer.") }

func greetUser(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	answer, err := sdk.Elicit(ctx, "user_name", form("What is your name?", nameSchema))
	if err != nil {
		return nil, err
	}
	name, ok, err := entered[string](answer, "name")
	if err != nil || !ok {
		return refused(), err
	}
	return sdk.Text("Hello, " + name + "!"), nil
}

// askAll asks three questions at once.
func askAll(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	answers, err := sdk.Ask(ctx, map[string]sdk.Question{
		"user_name":    form("What is your name?", nameSchema),
		"greeting":     sampling("Generate a greeting", 50),
		"client_roots": sdk.RootsQuestion{},
	})
	if err != nil {
		return nil, err
	}
	return answered(answers)
}

// askSupported asks those of the questions of askAll that the client supports.
func askSupported(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	questions, client := map[string]sdk.Question{}, sdk.Client(ctx)
	if client.Elicitation != nil && client.Elicitation.Form != nil {
		questions["user_name"] = form("What is your name?", nameSchema)
	}
	if client.Sampling != nil {
		questions["greeting"] = sampling("Generate a greeting", 50)
	}
	if client.Roots != nil {
		questions["client_roots"] = sdk.RootsQuestion{}
	}
	if len(questions) == 0 {
		return sdk.Text("The client supports no question."), nil
	}
	answers, err := sdk.Ask(ctx, questions)
	if err != nil {
		return nil, err
	}
	return answered(answers)
}

// answered returns what the client has answered to the questions of askAll, or to some of them.
func answered(answers sdk.Answers) (*sdk.ToolResult, error) {
	var lines []string
	if _, ok := answers["greeting"]; ok {
		greeting, err := answers.Sampling("greeting")
		if err != nil {
			return nil, err
		}
		lines = append(lines, greeting.Text())
	}
	if _, ok := answers["user_name"]; ok {
		answer, err := answers.Form("user_name")
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("%s %s", answer.Action, answer.Content))
	}
	if _, ok := answers["client_roots"]; ok {
		roots, err := answers.Roots("client_roots")
		if err != nil {
			return nil, err
		}
		lines = append(lines, describe(roots))
	}
	return sdk.Text(strings.Join(lines, "\n")), nil
}

func askTwice(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	first, err := sdk.Elicit(ctx, "step1", form("Step 1: What is your name?", nameSchema))
	if err != nil {
		return nil, err
	}
	name, ok, err := entered[string](first, "name")
	if err != nil || !ok {
		return refused(), err
	}
	second, err := sdk.Elicit(ctx, "step2", form("Step 2: What is your favorite color?", colorSchema))
	if err != nil {
		return nil, err
	}
	color, ok, err := entered[string](second, "color")
	if err != nil || !ok {
		return refused(), err
	}
	return sdk.Text(name + " likes " + color), nil
}

// confirmState is the state of confirm.
const confirmState = "asked for a confirmation"

// confirm keeps a state while the user is asked, and checks that it is the same afterwards.
func confirm(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	sdk.SetState(ctx, confirmState)
	answer, err := sdk.Elicit(ctx, "confirm", form("Please confirm", confirmSchema))
	if err != nil {
		return nil, err
	}
	if state := sdk.State(ctx); state != confirmState {
		return nil, &sdk.Error{Code: abi.CodeInternal, Message: fmt.Sprintf("the state was %q", state)}
	}
	confirmed, ok, err := entered[bool](answer, "ok")
	if err != nil || !ok {
		return refused(), err
	}
	return sdk.Text(fmt.Sprintf("state-ok, confirmed: %t", confirmed)), nil
}

// fillIn returns a prompt with what the user has entered.
func fillIn(ctx context.Context, _ map[string]string) ([]sdk.PromptMessage, error) {
	answer, err := sdk.Elicit(ctx, "user_context", form("What context should the prompt use?", contextSchema))
	if err != nil {
		return nil, err
	}
	text, ok, err := entered[string](answer, "context")
	if err != nil {
		return nil, err
	}
	if !ok {
		text = "none"
	}
	return says(sdk.TextContent{Text: "The context: " + text}), nil
}
