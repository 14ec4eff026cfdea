package gateway

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// With duplicate keys, the gateway could replace one progress token while the client reads the other.
func TestAmbiguousNotificationIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ method, params, want string }{
		"a token in two spellings": {methodProgress, `{"progress":1,"progressToken":"mine","ProgressToken":"another's"}`, "notifications/progress: ProgressToken differs from progressToken only in case"},
		"a token in other case":    {methodProgress, `{"progress":1,"PROGRESSTOKEN":"another's"}`, "PROGRESSTOKEN differs from progressToken only in case"},
		"two tokens":               {methodProgress, `{"progress":1,"progressToken":1,"progressToken":2}`, "progressToken is given twice"},
		"two values":               {methodProgress, `{"progress":"x","progress":1}`, "progress is given twice"},
		"two levels":               {methodMessage, `{"level":"info","Level":"error","data":1}`, "Level differs from level only in case"},
		"two resources":            {"notifications/resources/updated", `{"uri":"note://a","uri":"note://b"}`, "uri is given twice"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := connect(t, newGateway(t, Config{Logging: true, Offers: Offers{Resources: true, Subscribe: true}}, newFake()))
				got := p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notify","_meta":{"progressToken":"mine"},"arguments":[{"method":%q,"params":%s}]}}`, c.method, c.params))
				if len(got) != 1 || !strings.Contains(got[0], c.want) {
					t.Errorf("got %q, want an answer that says %q", got, c.want)
				}
			})
		})
	}
}
