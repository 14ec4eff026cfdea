package ui

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// Page is a page of a Server.
type Page struct {
	Path     string // such as /grants
	Title    string
	Template string // text that defines the template "main", which is executed with what Model returns, within layout.html
	Unlisted bool   // whether it is reached by links of other pages only
	// Model returns the content. Whatever it does ends with ctx. An error of package usage is shown with status 400, any other with 500.
	Model func(ctx context.Context, query url.Values) (any, error)
	// Events, if it is not nil, serves Path/events, a stream of server-sent events, until ctx ends. send executes the template called block of the
	// page, and sends the result as the event of that name. With Events, the page gets htmx and its extension for such streams.
	Events func(ctx context.Context, query url.Values, send func(block string, model any) error) error

	parsed *template.Template
}

// layout is what layout.html is executed with.
type layout struct {
	Pages []Page // the listed pages
	Page  *Page
	Model any
	Error string
}

// listing is what the templates of tables are executed with.
type listing struct {
	Caption string
	Rows    any
}

//go:embed layout.html
var layoutText string

// functions are for all templates.
var functions = template.FuncMap{
	"date":  func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") },
	"clock": func(t time.Time) string { return t.Local().Format("15:04:05") },
	"age":   func(now, since time.Time) string { return chart.Duration(max(0, now.Sub(since))) },
	"join":  strings.Join,
	"list":  func(caption string, rows any) any { return listing{caption, rows} },
	"all":   func(values ...any) []any { return values },
	"add":   func(a, b int) int { return a + b },
	"prose": prose,
	"flags": flags,

	"counted": chart.Counted[int],

	"count": chart.Count[int64],
	"bytes": chart.Bytes,
	"fuel":  chart.Count[uint64],
	"micro": chart.Microseconds,
}

func (p *Page) parse() error {
	t, err := template.New("layout.html").Funcs(functions).Parse(layoutText)
	if err == nil {
		p.parsed, err = t.New(p.Path).Parse(p.Template)
	}
	return err
}

// show answers with a page.
func (s *Server) show(w http.ResponseWriter, r *http.Request, p *Page) {
	select {
	case s.models <- struct{}{}:
		defer func() { <-s.models }()
	case <-r.Context().Done():
		return
	}
	content, status := layout{Page: p}, http.StatusOK
	for _, other := range s.pages {
		if !other.Unlisted {
			content.Pages = append(content.Pages, other)
		}
	}
	model, err := p.Model(r.Context(), r.URL.Query())
	var correctable *usage.Error
	switch {
	case errors.As(err, &correctable):
		content.Error, status = err.Error(), http.StatusBadRequest
	case err != nil:
		content.Error, status = err.Error(), http.StatusInternalServerError
	default:
		content.Model = model
	}
	text, err := p.execute("layout", content)
	if err != nil {
		s.log.Error("a page cannot be shown", "page", p.Path, "error", err)
		refuseBelow(w, http.StatusInternalServerError, "The page cannot be shown: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // an error means that the browser has gone
}

// execute executes a template of the page. All invisible characters of the result are replaced, wherever they come from: they could
// hide a part of a name, or change its order.
func (p *Page) execute(name string, model any) (string, error) {
	var b bytes.Buffer
	if err := p.parsed.ExecuteTemplate(&b, name, model); err != nil {
		return "", err
	}
	return visible.Text(b.String()), nil
}

// stream answers with the events of a page.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, p *Page) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, "Too many pages are open that show events: close one.")
		return
	}
	s.session.hold()
	defer func() { s.session.release(s.now()) }()
	ctx := r.Context() // which ends with the server, too
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	_ = out.Flush() // so that the browser knows that the stream is open; an error is that of the first event, too
	send := func(block string, model any) error {
		text, err := p.execute(block, model)
		if err != nil {
			return err
		}
		if err := out.SetWriteDeadline(s.now().Add(eventTimeout)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", block, strings.ReplaceAll(text, "\n", "\ndata: ")); err != nil {
			return err
		}
		return out.Flush()
	}
	if err := p.Events(ctx, r.URL.Query(), send); err != nil && ctx.Err() == nil {
		s.log.Debug("a stream of events ended", "page", p.Path, "error", err)
	}
}
