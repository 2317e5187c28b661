module github.com/signpostd/signpost/dev/page

go 1.26.0

replace github.com/signpostd/signpost => ../..
