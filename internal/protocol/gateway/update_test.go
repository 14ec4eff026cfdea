package gateway

import (
	"strings"
	"testing"
	"testing/synctest"
)

// apply replaces the Config of g.
func apply(t *testing.T, g *Gateway, c Config, change func(*Update)) {
	t.Helper()
	c.Name, c.Version = "fake", "1.2.3"
	u, err := g.Prepare(c)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(u)
	}
	g.Apply(u)
	synctest.Wait()
}

func tools(names ...string) []Tool {
	var all []Tool
	for _, name := range names {
		all = append(all, Tool{Name: name, Input: []byte(`{"type":"object"}`)})
	}
	return all
}

const (
	toolsChangedLine   = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	promptsChangedLine = `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`
)

func TestApplyNotifiesOfListsThatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		offers := Offers{ToolsChange: true, Prompts: true, PromptsChange: true}
		g := newGateway(t, Config{Tools: tools("a"), Offers: offers}, newFake())
		legacy, modern, deaf := connect(t, g), connect(t, g), connect(t, g)
		legacy.say(initializeLine)
		modern.say(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`)

		apply(t, g, Config{Tools: tools("a"), Offers: offers}, nil)
		wantLines(t, legacy.out.lines())
		apply(t, g, Config{Tools: tools("a", "b"), Offers: offers}, nil)
		wantLines(t, legacy.out.lines(), toolsChangedLine)
		wantLines(t, modern.out.lines(), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}`)
		apply(t, g, Config{Tools: tools("a", "b"), Offers: offers}, func(u *Update) { u.PromptsChanged = true })
		wantLines(t, legacy.out.lines(), promptsChangedLine)
		wantLines(t, modern.out.lines()) // did not ask for it
		wantLines(t, deaf.out.lines())   // has not begun
		if got := strings.Join(legacy.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), ""); !strings.Contains(got, `"b"`) {
			t.Error(got)
		}
	})
}

// A session gets the notifications that were declared to it.
func TestSessionIsNotNotifiedOfWhatWasNotDeclared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, Config{Tools: tools("a")}, newFake())
		before := connect(t, g)
		before.say(initializeLine)
		apply(t, g, Config{Tools: tools("a", "b"), Offers: Offers{ToolsChange: true}}, nil)
		after := connect(t, g)
		after.say(initializeLine)
		apply(t, g, Config{Tools: tools("a"), Offers: Offers{ToolsChange: true}}, nil)
		wantLines(t, before.out.lines())
		wantLines(t, after.out.lines(), toolsChangedLine)
	})
}

// Clients cannot be told that a capability is gone.
func TestDeclaredCapabilitiesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, Config{Tools: tools("a"), Offers: Offers{ToolsChange: true, Prompts: true}, Logging: true}, newFake())
		c := connect(t, g)
		c.say(initializeLine)
		apply(t, g, Config{Offers: Offers{Resources: true}}, nil)
		wantLines(t, c.out.lines(), toolsChangedLine)
		wantLines(t, c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`)
		if got := strings.Join(c.say(`{"jsonrpc":"2.0","id":2,"method":"prompts/list"}`), ""); !strings.Contains(got, `"result"`) {
			t.Error(got)
		}
		if got := strings.Join(c.say(`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"error"}}`), ""); !strings.Contains(got, `"result"`) {
			t.Error(got)
		}
	})
}

func TestPrepareRefusesInvalidConfig(t *testing.T) {
	g := newGateway(t, Config{Tools: tools("a")}, newFake())
	if _, err := g.Prepare(Config{Name: "fake", Version: "1", Tools: tools("a", "a")}); err == nil || !strings.Contains(err.Error(), "duplicate") {
		t.Errorf("got %v", err)
	}
}

func TestWarnReachesSessionsThatWantIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, Config{Logging: true}, newFake())
		wants, quiet, deaf := connect(t, g), connect(t, g), connect(t, g)
		wants.say(initializeLine)
		quiet.say(initializeLine, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`)
		g.Warn("host", `a "text"`)
		synctest.Wait()
		wantLines(t, wants.out.lines(), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"host","data":"a \"text\""}}`)
		wantLines(t, quiet.out.lines())
		wantLines(t, deaf.out.lines())

		silent := newGateway(t, Config{}, newFake())
		c := connect(t, silent)
		c.say(initializeLine)
		silent.Warn("host", "text")
		synctest.Wait()
		wantLines(t, c.out.lines())
	})
}
