// Command pages opens the pages of `bulkhead ui` in headless Chromium, at three sizes and in both themes, and checks each: no message in the
// console, no violation of the content security policy, nothing wider than the window, no serious fault that axe-core finds, and complete
// content without JavaScript. Screenshots are written to a directory, for people to look at. The script .ci/pages calls it.
//
// The pages are those of a sample, with several plugins and clients, 40 days of an audit log, and servers with calls that run. With -serve,
// the sample is only served, without hostile names, for people to look at it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

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
	only := flag.Bool("serve", false, "serve the sample, print the link, and wait for an interrupt")
	flag.Parse()
	run := func() error { return test(*chromium, *axe, *out, *program, *plugins) }
	if *only {
		run = func() error { return serve(*program, *plugins) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve serves a sample until the program is interrupted.
func serve(program, plugins string) error {
	s, err := startSample(program, plugins, "")
	if err != nil {
		return err
	}
	defer s.stop()
	fmt.Printf("Config: %s\nProject: %s\nOpen once, within 5 minutes: %s\nCtrl-C ends it.\n", s.config, s.project, s.link)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	<-ctx.Done()
	return nil
}

// test opens each page of a sample.
func test(chromium, axe, out, program, plugins string) error {
	checker, err := os.ReadFile(axe)
	if err != nil {
		return err
	}
	s, err := startSample(program, plugins, hostile)
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
	ctx, cancel = context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	b := &browser{sample: s, checker: string(checker), out: out}
	chromedp.ListenTarget(ctx, b.listen)
	var start string
	if err := chromedp.Run(ctx, runtime.Enable(), log.Enable(), chromedp.Navigate(s.link), chromedp.Location(&start)); err != nil {
		return fmt.Errorf("the link: %w", err)
	}
	s.base = start[:strings.LastIndexByte(start, '/')+1]
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
	b.live(ctx)
	fmt.Printf("%d pages, sizes and themes were shown\n", shown)
	return errors.Join(b.faults...)
}
