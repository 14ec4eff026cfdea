// Command pages opens the pages of `bulkhead ui` in headless Chromium, at three sizes and in both themes, and checks each: no message in the
// console, no violation of the content security policy, nothing wider than the window, no serious fault that axe-core finds, and complete
// content without JavaScript. Screenshots are written to a directory, for people to look at. The script .ci/pages calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var sizes = []struct {
	name          string
	width, height int64
}{{"small", 360, 740}, {"medium", 820, 1100}, {"large", 1440, 1000}}

func main() {
	chromium := flag.String("chromium", "", "the browser's `program`")
	axe := flag.String("axe", "", "`file` axe.min.js")
	out := flag.String("out", "", "`directory` for the screenshots")
	program := flag.String("bulkhead", "", "the `program` to test")
	plugins := flag.String("plugins", "", "`directory` of built plugins")
	flag.Parse()
	if err := run(*chromium, *axe, *out, *program, *plugins); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(chromium, axe, out, program, plugins string) error {
	checker, err := os.ReadFile(axe)
	if err != nil {
		return err
	}
	s, err := startSample(program, plugins)
	if err != nil {
		return err
	}
	defer s.stop()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	b := &browser{sample: s, checker: string(checker), out: out}
	chromedp.ListenTarget(ctx, b.listen)
	if err := chromedp.Run(ctx, runtime.Enable(), log.Enable(), chromedp.Navigate(s.link), chromedp.Location(&s.base)); err != nil {
		return fmt.Errorf("the link: %w", err)
	}
	s.base = strings.TrimSuffix(s.base, "/grants") // of the start page
	shown := 0
	for _, path := range s.paths {
		short, _, _ := strings.Cut(path, "&file=") // which differs from run to run
		for _, size := range sizes {
			for _, theme := range []string{"light", "dark"} {
				name := strings.Trim(strings.NewReplacer("/", "-", "?", "-", "&", "-", "=", "-", "%", "").Replace(short), "-")
				b.open(ctx, path, fmt.Sprintf("%.40s-%s-%s", name, size.name, theme), size.width, size.height, theme)
				shown++
			}
		}
	}
	b.withoutScript(ctx)
	fmt.Printf("%d pages, sizes and themes were shown\n", shown)
	return errors.Join(b.faults...)
}

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
