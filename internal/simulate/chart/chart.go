// Package chart draws what a simulation found: admitted and rejected requests,
// and how full the window was, over time.
package chart

//go:generate go run ./gen

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"sluice/internal/simulate"
)

// Sizes of a picture.
const (
	width       = 9 * vg.Inch
	panelHeight = 2.3 * vg.Inch
	legendWidth = 1.5 * vg.Inch
	maxLimits   = 6 // that are drawn: the first that requests met
)

// palette is Okabe and Ito's, which people with colour blindness tell apart; the
// dashes do, too.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff},
	{0xcc, 0x79, 0xa7, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff},
}

var dashes = [][]vg.Length{
	nil, {vg.Points(5), vg.Points(2)}, {vg.Points(1.5), vg.Points(1.5)},
	{vg.Points(7), vg.Points(2), vg.Points(1.5), vg.Points(2)}, {vg.Points(3), vg.Points(3)}, {vg.Points(9), vg.Points(4)},
}

// Save draws a report into a file; its name says whether as SVG or PNG. A report
// without requests that met a limit is an error.
func Save(r *simulate.Report, path string) error {
	var b bytes.Buffer
	if err := Write(r, strings.TrimPrefix(filepath.Ext(path), "."), &b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// Write draws a report as svg or png.
func Write(r *simulate.Report, format string, out io.Writer) error {
	graphs := r.Graphs()
	if len(graphs) == 0 {
		return fmt.Errorf("there is nothing to plot: no request met a limit")
	}
	graphs = graphs[:min(len(graphs), maxLimits)]
	var panels [][]*plot.Plot
	for i := range graphs {
		rates, held := panelsOf(&graphs[i], len(r.Load) > 0)
		panels = append(panels, []*plot.Plot{rates}, []*plot.Plot{held})
	}
	height := panelHeight * vg.Length(len(panels))
	tiles := draw.Tiles{
		Rows: len(panels), Cols: 1, PadY: vg.Points(10),
		PadTop: vg.Points(8), PadBottom: vg.Points(6), PadLeft: vg.Points(8), PadRight: legendWidth,
	}
	paint := func(c draw.Canvas) {
		for i, row := range plot.Align(panels, tiles, c) {
			panels[i][0].Draw(row[0])
		}
	}
	if format == "png" {
		c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144), vgimg.UseBackgroundColor(color.White))
		paint(draw.New(c))
		_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(out)
		return err
	}
	c := vgsvg.New(width, height)
	background(c)
	paint(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	// Few machines have the font by that name.
	_, err := io.WriteString(out, strings.ReplaceAll(b.String(), "font-family:Liberation Sans", "font-family:Liberation Sans,Arial,Helvetica,sans-serif"))
	return err
}

// background makes the whole picture white: a page may be dark.
func background(c *vgsvg.Canvas) {
	w, h := c.Size()
	var p vg.Path
	p.Move(vg.Point{})
	p.Line(vg.Point{X: w})
	p.Line(vg.Point{X: w, Y: h})
	p.Line(vg.Point{Y: h})
	p.Close()
	c.SetColor(color.White)
	c.Fill(p)
}

// panelsOf draws a limit: its rates, and how full its window was.
func panelsOf(g *simulate.Graph, fromZero bool) (rates, held *plot.Plot) {
	rates, held = panel(g, fromZero), panel(g, fromZero)
	rates.Title.Text = g.Name + ", " + g.Rate
	rates.Y.Label.Text = "requests/s"
	if len(g.Lines) > 1 {
		rates.Y.Label.Text = "admitted/s"
	}
	rates.X.Label.Text = ""
	held.Y.Label.Text = "units in the window"
	x := func(i int) float64 {
		us := g.From + int64(i)*g.Step
		if fromZero {
			us -= g.From
		}
		return float64(us) / 1e6
	}
	line := func(p *plot.Plot, name string, values []float64, style int) {
		xy := make(plotter.XYs, len(values))
		for i, v := range values {
			xy[i] = plotter.XY{X: x(i), Y: v}
		}
		l := &plotter.Line{XYs: xy, StepStyle: plotter.PostStep}
		l.Color = palette[style%len(palette)]
		l.Width = vg.Points(1.4)
		l.Dashes = dashes[style%len(dashes)]
		p.Add(l)
		p.Legend.Add(name, l)
	}
	for i := range g.Lines {
		l := &g.Lines[i]
		if len(g.Lines) == 1 {
			line(rates, "admitted", l.Admitted, 0)
			line(rates, "rejected", l.Rejected, 1)
			line(held, "fullest key", l.Held, 0)
			continue
		}
		line(rates, l.Algorithm, l.Admitted, i)
		line(held, l.Algorithm, l.Held, i)
	}
	limit := &plotter.Line{StepStyle: plotter.PostStep}
	for i, v := range g.Lines[0].Limit {
		limit.XYs = append(limit.XYs, plotter.XY{X: x(i), Y: v})
	}
	limit.Color, limit.Width = color.Black, vg.Points(1)
	limit.Dashes = []vg.Length{vg.Points(1.5), vg.Points(3)}
	held.Add(limit)
	held.Legend.Add("the limit", limit)
	for _, p := range []*plot.Plot{rates, held} {
		p.Y.Min = 0
		p.Y.Max = max(p.Y.Max*1.05, 1)
		p.X.Max = x(len(g.Lines[0].Held))
	}
	return rates, held
}

// panel is an empty panel in the picture's style.
func panel(g *simulate.Graph, fromZero bool) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White
	sans := func(s *text.Style, size float64) {
		s.Font.Variant = "Sans"
		s.Font.Size = vg.Points(size)
	}
	sans(&p.Title.TextStyle, 12)
	sans(&p.X.Label.TextStyle, 10)
	sans(&p.Y.Label.TextStyle, 10)
	sans(&p.X.Tick.Label, 9)
	sans(&p.Y.Tick.Label, 9)
	sans(&p.Legend.TextStyle, 9)
	// Beside the panel, where it hides nothing.
	p.Legend.Top = true
	p.Legend.XOffs = legendWidth - vg.Points(8)
	p.Legend.Padding = vg.Points(2)
	p.Legend.ThumbnailWidth = vg.Points(26)
	grid := plotter.NewGrid()
	grid.Vertical.Color = color.RGBA{0xe6, 0xe6, 0xe6, 0xff}
	grid.Horizontal.Color = grid.Vertical.Color
	p.Add(grid)
	p.X.Label.Text = "seconds"
	if !fromZero {
		format := "15:04:05"
		if span := int64(len(g.Lines[0].Held)) * g.Step / 1e6; span > 2*86_400 {
			format = "01-02 15:04"
		} else if span > 3600 {
			format = "15:04"
		}
		p.X.Label.Text = "time, UTC"
		p.X.Tick.Marker = plot.TimeTicks{Format: format, Time: plot.UTCUnixTime}
	}
	return p
}
