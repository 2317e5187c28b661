package inspect

import "time"

// Figures are numbers of the last 15 minutes. A process keeps them in memory of a fixed size, and
// loses them when it ends.
type Figures struct {
	// Newest is the time of the last values, and IntervalSeconds the time between two values.
	Newest          time.Time `json:"newest"`
	IntervalSeconds int       `json:"intervalSeconds"`
	// Figures are those that the process knows, in the order of the web page.
	Figures []Figure `json:"figures"`
}

// Figure is a number over time.
type Figure struct {
	Name FigureName `json:"name"`
	// Values are the oldest first, at most 180; null where the number wasn't known.
	Values []*int `json:"values"`
}

// FigureName says what a [Figure] counts.
type FigureName string

// The figures.
const (
	// FigureStreams: the open calls of the Destination API and of xDS.
	FigureStreams FigureName = "streams"
	// FigureBehind: the open calls that have waited for a response for more than a second.
	FigureBehind FigureName = "streamsBehind"
	// FigureChanges: the changes of [HistoryPath] within each interval.
	FigureChanges FigureName = "changes"
	// FigureUnpublished: the wanted records that aren't published, and the records to be deleted.
	// Only the leader knows them. If counting takes long, a value is repeated for several
	// intervals.
	FigureUnpublished FigureName = "recordsNotPublished"
)
