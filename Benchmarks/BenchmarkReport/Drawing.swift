/// An SVG picture that is readable on light and dark pages.
struct Drawing {
    let width: Int
    let height: Int
    private var elements: [String] = []

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    enum Anchor: String {
        case start, middle, end
    }

    mutating func text(
        _ x: Double, _ y: Double, _ text: String, _ style: String = "", at anchor: Anchor = .start
    ) {
        elements.append(
            "<text x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" class=\"\(style)\" "
                + "text-anchor=\"\(anchor.rawValue)\">\(Self.escaped(text))</text>")
    }

    mutating func line(_ x: Double, _ y: Double, to x2: Double, _ y2: Double, _ style: String) {
        elements.append(
            "<line x1=\"\(Self.number(x))\" y1=\"\(Self.number(y))\" x2=\"\(Self.number(x2))\" "
                + "y2=\"\(Self.number(y2))\" class=\"\(style)\"/>")
    }

    mutating func bar(_ x: Double, _ y: Double, width: Double, height: Double, _ style: String) {
        elements.append(
            "<rect x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" width=\"\(Self.number(width))\" "
                + "height=\"\(Self.number(height))\" rx=\"2\" class=\"\(style)\"/>")
    }

    mutating func dot(_ x: Double, _ y: Double, _ style: String, title: String) {
        elements.append(
            "<circle cx=\"\(Self.number(x))\" cy=\"\(Self.number(y))\" r=\"5\" class=\"\(style)\">"
                + "<title>\(Self.escaped(title))</title></circle>")
    }

    var svg: String {
        ([
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(width) \(height)\" "
                + "width=\"\(width)\" height=\"\(height)\" role=\"img\">",
            Self.style,
        ] + elements + ["</svg>", ""]).joined(separator: "\n")
    }

    /// The colours of Okabe and Ito, which people with any colour vision can distinguish; slightly darker on
    /// white.
    private static let style = """
        <style>
        text { font: 12px system-ui, sans-serif; fill: #24292f }
        .head { font-size: 15px; font-weight: 600 }
        .strong { font-weight: 600 }
        .quiet { fill: #57606a; font-size: 11px }
        .grid { stroke: #d0d7de; stroke-width: 1 }
        .one { stroke: #57606a; stroke-width: 1.5 }
        .c0 { fill: #0072b2 } .c1 { fill: #d55e00 } .c2 { fill: #009e73 } .c3 { fill: #b8860b }
        .c4 { fill: #a0478c } .c5 { fill: #2a9fd6 } .c6 { fill: #6e7781 }
        .subject { fill: #0072b2 } .peer { fill: #c97b3a } .plain { fill: #6e7781 } .ceiling { fill: #9aa4ae }
        @media (prefers-color-scheme: dark) {
        text { fill: #e6edf3 }
        .quiet { fill: #9198a1 }
        .grid { stroke: #3d444d }
        .one { stroke: #9198a1 }
        .c0 { fill: #4da3ff } .c1 { fill: #ff8c42 } .c2 { fill: #3ddc97 } .c3 { fill: #f0c419 }
        .c4 { fill: #d98cc4 } .c5 { fill: #7cc9f2 } .c6 { fill: #9198a1 }
        .subject { fill: #4da3ff } .peer { fill: #d98e50 } .plain { fill: #9198a1 } .ceiling { fill: #656c76 }
        }
        </style>
        """

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }

    private static func number(_ value: Double) -> String {
        Figure.fixed(value, decimals: 1).replacing(",", with: "")
    }
}
