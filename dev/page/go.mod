module github.com/signpostd/signpost/dev/page

go 1.26.0

replace github.com/signpostd/signpost => ../..

require (
	github.com/chromedp/cdproto v0.159.2
	github.com/chromedp/chromedp v0.22.0
	github.com/signpostd/signpost v0.0.0-00010101000000-000000000000
)

require (
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	golang.org/x/net v0.57.0 // indirect
	golang.org/x/text v0.40.0 // indirect
)
