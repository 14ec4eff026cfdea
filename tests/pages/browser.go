package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a browser with the session of a sample.
type browser struct {
	sample       *sample
	checker, out string
	messages     []string // of the console since the last page
	faults       []error
}

// listen collects what the browser complains of.
func (b *browser) listen(event any) {
	switch e := event.(type) {
	case *log.EventEntryAdded:
		b.messages = append(b.messages, e.Entry.Text+" "+e.Entry.URL)
	case *runtime.EventConsoleAPICalled:
		b.messages = append(b.messages, fmt.Sprint("console.", e.Type))
	case *runtime.EventExceptionThrown:
		b.messages = append(b.messages, e.ExceptionDetails.Error())
	}
}

func (b *browser) fault(page, format string, args ...any) {
	b.faults = append(b.faults, fmt.Errorf("%s: %s", page, fmt.Sprintf(format, args...)))
}

// overflow returns the elements that are wider than the window.
const overflow = `(() => {
	const wide = [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.skip, .scroll'))
	return document.documentElement.scrollWidth > innerWidth ? 'scrolls to ' + document.documentElement.scrollWidth + ': ' + wide.slice(0, 3).map(e => e.outerHTML.slice(0, 120)).join(' | ') : ''
})()`

// check runs axe and returns its serious faults.
const check = `axe.run(document, { resultTypes: ['violations'] }).then(r => r.violations.filter(v => v.impact === 'serious' || v.impact === 'critical')
	.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + n.failureSummary).join(' | ')).join('\n'))`

func (b *browser) open(ctx context.Context, path, name string, width, height int64, theme string) {
	b.messages = nil
	var wide, faults, title, foreign string
	var picture []byte
	err := chromedp.Run(ctx,
		emulation.SetDeviceMetricsOverride(width, height, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}),
		chromedp.Navigate(b.sample.base+path),
		chromedp.WaitVisible("h1"),
		chromedp.Title(&title),
		chromedp.Evaluate(overflow, &wide),
		chromedp.Evaluate(`[...document.querySelectorAll('main img, main iframe, main script, main object, main [onerror], main [onload]')].map(e => e.outerHTML).join(' ')`, &foreign),
		chromedp.FullScreenshot(&picture, 100),
		chromedp.Evaluate(b.checker+";undefined", nil),
		chromedp.Evaluate(check, &faults, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }),
	)
	if err != nil {
		b.fault(name, "%v", err)
		return
	}
	for text, what := range map[string]string{wide: "", faults: "axe: ", foreign: "elements that only a hostile name can have made: ", strings.Join(b.messages, "; "): "console: "} {
		if text != "" {
			b.fault(name, "%s%s", what, text)
		}
	}
	if !strings.HasSuffix(title, "Bulkhead") {
		b.fault(name, "the title is %q", title)
	}
	if err := os.WriteFile(filepath.Join(b.out, name+".png"), picture, 0o600); err != nil {
		b.fault(name, "%v", err)
	}
}

// withoutScript checks that pages have the same content without JavaScript.
func (b *browser) withoutScript(ctx context.Context) {
	for _, path := range b.sample.paths {
		var with, without string
		err := chromedp.Run(ctx,
			emulation.SetScriptExecutionDisabled(false), chromedp.Navigate(b.sample.base+path), chromedp.Text("main", &with),
			emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(b.sample.base+path), chromedp.Text("main", &without),
			emulation.SetScriptExecutionDisabled(false),
		)
		if err != nil || len(without) < len(with)/2 || len(with) < 40 {
			b.fault(path, "without JavaScript it has %d characters, with it %d (%v)", len(without), len(with), err)
		}
	}
}

// live checks that the page Live has what the servers of the sample do.
func (b *browser) live(ctx context.Context) {
	var text string
	if err := chromedp.Run(ctx, chromedp.Navigate(b.sample.base+"live"), chromedp.Text("main", &text)); err != nil {
		b.fault("live", "%v", err)
	}
	for _, want := range []string{"running", "queued", "approval of the call", "output_too_large", "not_granted", "deny_tools", "--client ci-build"} {
		if !strings.Contains(text, want) {
			b.fault("live", "lacks %q: %s", want, text)
		}
	}
}
