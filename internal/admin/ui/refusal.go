package ui

import (
	"fmt"
	"html/template"
	"net/http"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// logger also logs refusals.
type logger struct {
	hclog.Logger
	refusals sync.Map // the kinds of refusals that were logged
}

// refused logs the first refusal of a kind: other users, and pages of other sites, can cause any number of them.
func (l *logger) refused(kind, what, reason string) {
	if _, before := l.refusals.LoadOrStore(kind, true); !before {
		l.Warn(what+" was refused; further ones for this reason are not logged", "reason", reason)
	}
}

// refusal is the page of a request that gets no other one. It has neither style nor script, which only the session gets.
const refusal = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Bulkhead</title></head>
<body><main><h1>Bulkhead</h1><p>%s</p>%s</main></body></html>
`

// refuse answers a request that is for no path of the session, and gets no link to one.
func refuse(w http.ResponseWriter, status int, why string) { writeRefusal(w, status, why, "") }

// refuseBelow answers a request for a path of the session. The link to the start page also has the browser send the cookie, which it does
// not when another program has opened the address.
func refuseBelow(w http.ResponseWriter, status int, why string) {
	writeRefusal(w, status, why, `<p><a href="./">Continue</a></p>`)
}

func writeRefusal(w http.ResponseWriter, status int, why, link string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, refusal, template.HTMLEscapeString(visible.Text(why)), link)
}
